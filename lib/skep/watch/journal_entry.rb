# frozen_string_literal: true

require "json"

# An event as the journal takes it: the log's line as MESSAGE, the level as PRIORITY, and each fact
# as a field, such as SKEP_NODE.
#
#   JournalEntry.of("node_died", :warn, swarm: "billing", node: 0)
#   # => "MESSAGE=node_died swarm=billing node=0\nPRIORITY=4\n…SKEP_EVENT=node_died\nSKEP_NODE=0\n"
#
# systemd.io/JOURNAL_NATIVE_PROTOCOL.
module Skep
  module Watch
    module JournalEntry
      PRIORITIES = { debug: 7, info: 6, warn: 4, error: 3 }.freeze # syslog(3)
      NAME = 64 # letters of a field's, at most
      private_constant :PRIORITIES, :NAME

      module_function

      def of(name, level, facts) #: (String, Symbol, Hash[Symbol, untyped]) -> String
        fields = { "MESSAGE" => Wording.of(name, facts), "PRIORITY" => PRIORITIES.fetch(level, 6),
                   "SYSLOG_IDENTIFIER" => "skep", "SKEP_EVENT" => name }
        facts.except(*Wording::DETAILS).each { |key, value| fields[field(key)] = value }
        fields.map { |key, value| pair(key, plain(value)) }.join
      end

      # Letters, digits and underscores only.
      def field(key) = "SKEP_#{key.to_s.upcase.gsub(/[^A-Z0-9]/, "_")}"[0, NAME]

      def plain(value)
        value.is_a?(String) ? value.b : JSON.generate(Swarm::IPC::PlainData.of(value)).b
      end

      # A value of several lines comes with its length.
      def pair(key, value)
        return "#{key}=#{value}\n" unless value.include?("\n")

        "#{key}\n#{[value.bytesize].pack("Q<")}#{value}\n"
      end
      private_class_method :field, :plain, :pair
    end
  end
end
