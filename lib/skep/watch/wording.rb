# frozen_string_literal: true

require "json"

# An event in words, as the log has it: its name, its facts, and under it where threads are.
#
#   Wording.of("node_died", node: 0, signal: "KILL")   # => "node_died node=0 signal=KILL"
module Skep
  module Watch
    module Wording
      DETAILS = %i[threads tasks].freeze

      module_function

      # A work gives its events and facts the names it likes: they must not pass for another line.
      def of(name, facts) #: (String, Hash[Symbol, untyped]) -> String
        below, beside = facts.partition { |key, value| DETAILS.include?(key) && rows?(value) }
        words = beside.map { |key, value| "#{word(key.to_s)}=#{word(value)}" }
        [[word(name), *words].join(" "), *details(below.to_h)].join("\n")
      end

      # Where a node's threads are: as it says itself, and as the kernel does.
      def details(facts)
        [*facts[:threads]&.map { |one| thread(one) }, *facts[:tasks]&.map { |one| task(one) }]
      end

      # A work may give a fact of its own that name.
      def rows?(value) = value.is_a?(Array) && value.all?(Hash)

      def thread(facts)
        [line("  thread #{facts['thread']} (#{facts['status']})"), *indented(facts["backtrace"])]
      end

      def task(facts)
        words = facts.except(:stack).map { |key, value| "#{key}=#{word(value)}" }
        ["  task #{words.join(' ')}", *indented(facts[:stack])]
      end

      def indented(lines) = [*lines].map { |line| line("    #{line}") }
      def line(text) = text.tr("\n", " ")

      def word(value)
        text = value.is_a?(String) ? value : JSON.generate(Swarm::IPC::PlainData.of(value))
        text.match?(/\A[^\s"=\\]+\z/) ? text : text.to_json
      end
      private_class_method :details, :rows?, :thread, :task, :indented, :line, :word
    end
  end
end
