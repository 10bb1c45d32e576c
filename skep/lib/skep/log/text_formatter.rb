# frozen_string_literal: true

require "json"
require "time"

# Formats an event as text: its name and facts, and below them the backtraces of threads or of an
# error.
#
#   TextFormatter.message("node_died", node: 0, signal: "KILL")
#   # => "node_died node=0 signal=KILL"
#   TextFormatter.format(time, "node_died", :warn, node: 0)
#   # => "2026-01-31T10:00:00.123456Z WARN  node_died node=0\n"
#   TextFormatter.of_json(event)   # the same for an event that has come over the control socket
module Skep
  module Log
    module TextFormatter
      DETAILS = %i[threads tasks backtrace].freeze
      SILENT = "  no backtraces: the node didn't answer in time, so C code may hold the GVL"
      STOPPED = %w[stopped traced].freeze # such a node can't answer
      WORD = /\A[^ "'`=\\[:cntrl:]\u2028\u2029]+\z/
      JSON_WORD = /\A[^ '`\\[:cntrl:]\u2028\u2029]+\z/
      CONTROL = /[[:cntrl:]\u2028\u2029]/
      HEAD = %w[v seq time mono level event].freeze # of a line of the control socket
      private_constant :SILENT, :STOPPED, :WORD, :JSON_WORD, :CONTROL, :HEAD

      module_function

      def format(time, name, level, facts) = entry(time.iso8601(6), name, level, facts)

      def of_json(event)
        facts = event.except(*HEAD).transform_keys(&:to_sym)
        tasks = facts[:tasks]
        facts[:tasks] = tasks.map { |one| one.transform_keys(&:to_sym) } if rows?(:tasks, tasks)
        entry(event["time"], event["event"], event["level"], facts)
      end

      def entry(time, name, level, facts)
        "#{time} #{level.to_s.upcase.ljust(5)} #{message(name, facts)}\n"
      end

      # Names that a work gives its events and facts are quoted, so that they can't forge a line.
      def message(name, facts)
        below, beside = facts.partition { |key, value| DETAILS.include?(key) && rows?(key, value) }
        words = beside.map { |key, value| "#{word(key.to_s)}=#{word(value)}" }
        [[word(name), *words].join(" "), *(SILENT if silent?(name, facts)),
         *details(below.to_h)].join("\n")
      end

      # The threads of a node, as the node reports them and as the kernel does.
      def details(facts)
        [*facts[:threads]&.map { |one| thread(one) }, *facts[:tasks]&.map { |one| task(one) },
         *indented(facts[:backtrace])]
      end

      def silent?(name, facts)
        name.to_s == "node_hung" && !facts.key?(:threads) && !STOPPED.include?(facts[:state])
      end

      # Returns false for a fact of that name which a work has given another meaning.
      def rows?(key, value)
        value.is_a?(Array) && value.all?(key == :backtrace ? String : Hash)
      end

      def thread(facts)
        [line("  thread #{facts['name']} (#{facts['status']})"), *indented(facts["backtrace"])]
      end

      def task(facts)
        words = facts.except(:stack).map { |key, value| "#{key}=#{word(value)}" }
        ["  task #{words.join(' ')}", *indented(facts[:stack])]
      end

      def indented(lines) = [*lines].map { |line| line("    #{line}") }
      def line(text) = without_controls(text.to_s.tr("\n", " "))

      # Returns one word. A text that isn't one is between quotes that it doesn't contain, so that
      # it reads as it is. A text with all kinds of quotes, or control characters, is escaped.
      def word(value)
        return json(value) unless value.is_a?(String)
        return value if value.match?(WORD)

        quoted(value)
      end

      def json(value)
        text = JSON.generate(Swarm::IPC::PlainData.of(value))
        text.match?(JSON_WORD) ? text : quoted(text)
      end

      def quoted(text)
        return escaped(text) if text.match?(CONTROL)
        return "\"#{text}\"" unless text.match?(/["\\]/)

        quote = %w[' `].find { |one| !text.include?(one) }
        quote ? [quote, text, quote].join : escaped(text)
      end

      # JSON leaves some control characters and line separators as they are.
      def escaped(text) = without_controls(text.to_json)

      def without_controls(text) = text.gsub(CONTROL) { |one| Kernel.format("\\u%04x", one.ord) }
      private_class_method :entry, :details, :silent?, :rows?, :thread, :task, :indented, :line,
                           :word, :json, :quoted, :escaped, :without_controls
    end
  end
end
