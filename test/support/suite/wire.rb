# frozen_string_literal: true

require "json"

module TestSuite
  # Translates a worker's messages: each is a line of JSON. A failure is sent as text, since its
  # exception may be of a class that only the worker has loaded.
  module Wire
    FAILURES = [Minitest::Assertion, Minitest::Skip, Minitest::UnexpectedError,
                Minitest::UnexpectedWarning].to_h { |kind| [kind.name, kind] }.freeze
    private_constant :FAILURES

    class << self
      def line(message) = "#{JSON.generate(message)}\n"

      def dump(result)
        { klass: result.klass, name: text(result.name), assertions: result.assertions,
          time: result.time, source_location: result.source_location,
          failures: result.failures.map { |failure| dump_failure(failure) } }
      end

      def load(facts)
        result = Minitest::Result.new(facts["name"])
        %w[klass assertions time source_location].each { |key| result.send(:"#{key}=", facts[key]) }
        result.failures = facts["failures"].map { |failure| load_failure(*failure) }
        result
      end

      # A test that has no result, because its worker ended.
      def ended(class_name, name, time, message)
        load("klass" => class_name, "name" => name, "assertions" => 0, "time" => time,
             "source_location" => ["unknown", -1],
             "failures" => [["Minitest::UnexpectedError", message, []]])
      end

      private

      def dump_failure(failure)
        kind = FAILURES.keys.find { |name| failure.instance_of?(FAILURES[name]) }
        [kind || "Minitest::Assertion", text(failure.message), failure.backtrace&.map { text(_1) }]
      end

      def load_failure(kind, message, backtrace)
        failure = FAILURES.fetch(kind).then do |type|
          type <= Minitest::UnexpectedError ? type.new(RuntimeError.new) : type.new(message)
        end
        failure.define_singleton_method(:message) { message }
        failure.define_singleton_method(:backtrace) { backtrace }
        failure
      end

      def text(string) = string.dup.force_encoding(Encoding::UTF_8).scrub
    end
  end
end
