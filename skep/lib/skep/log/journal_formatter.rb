# frozen_string_literal: true

require "json"

# Formats an event for systemd's journal: the log's line as MESSAGE, the level as PRIORITY, and each
# fact as a field, such as SKEP_NODE.
#
#   JournalFormatter.format("node_died", :warn, swarm: "billing", node: 0)
#   # => "MESSAGE=node_died swarm=billing node=0\nPRIORITY=4\n…SKEP_EVENT=node_died\nSKEP_NODE=0\n"
#
# systemd.io/JOURNAL_NATIVE_PROTOCOL.
module Skep
  module Log
    module JournalFormatter
      PRIORITIES = { debug: 7, info: 6, warn: 4, error: 3 }.freeze # syslog(3)
      NAME_LENGTH = 64 # of a field, at most
      private_constant :PRIORITIES, :NAME_LENGTH

      module_function

      def format(name, level, facts)
        fields = { "MESSAGE" => TextFormatter.message(name, facts),
                   "PRIORITY" => PRIORITIES.fetch(level, 6),
                   "SYSLOG_IDENTIFIER" => "skep", "SKEP_EVENT" => name }
        below = TextFormatter::DETAILS - %i[backtrace] # in the message only
        facts.except(*below).each { |key, value| fields[field(key)] = value }
        fields.map { |key, value| pair(key, plain(value)) }.join
      end

      # Letters, digits and underscores only.
      def field(key) = "SKEP_#{key.to_s.upcase.gsub(/[^A-Z0-9]/, "_")}"[0, NAME_LENGTH]

      def plain(value)
        value.is_a?(String) ? value.b : JSON.generate(Swarm::IPC::PlainData.of(value)).b
      end

      # A value of several lines is preceded by its length.
      def pair(key, value)
        return "#{key}=#{value}\n" unless value.include?("\n")

        "#{key}\n#{[value.bytesize].pack("Q<")}#{value}\n"
      end
      private_class_method :field, :plain, :pair
    end
  end
end
