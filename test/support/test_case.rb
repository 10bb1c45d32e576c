# frozen_string_literal: true

module Skep
  # Every test's class. A test is a sentence, asserts something, and leaves nothing behind (Leaks).
  class TestCase < Minitest::Test
    include Leaks
    include Processes

    #: (String) { () -> void } -> void
    def self.test(sentence, &block)
      name = :"test_#{sentence}"
      raise ArgumentError, "#{self} tests twice that it #{sentence}" if method_defined?(name, false)

      define_method(name, &block)
    end

    #: () -> void
    def after_teardown
      flunk "asserts nothing" if failures.empty? && assertions.zero?
    ensure
      super
    end
  end
end
