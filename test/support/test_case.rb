# frozen_string_literal: true

module Skep
  # The base class of every test. A test's name is a sentence. A test fails if it asserts nothing,
  # leaves something behind (Leaks), or hangs; then its backtrace shows where.
  class TestCase < Minitest::Test
    include Leaks
    include Processes

    # Seconds; far beyond what the slowest test takes on the slowest machine.
    def self.longest = 240

    # Runs the class's tests after all others, while no other test runs. The reason is what they
    # share with other tests.
    def self.run_alone!(reason) = @alone = reason

    def self.alone? = !@alone.nil?

    def self.test(sentence, &block)
      name = :"test_#{sentence}"
      raise ArgumentError, "#{self} has two tests: #{sentence}" if method_defined?(name, false)

      define_method(name, &block)
    end

    # Skips the test because something that can be installed is missing, or fails it if the machine
    # promises to have that (Means). `skip` is for what can't exist here: another Ruby, the C
    # extension on the fallback, rights.
    def missing(what)
      Means.promised? ? flunk("this machine lacks what it promises: #{what}") : skip(what)
    end

    # Stops the SharedBroker of another class.
    def before_setup
      ::SharedBroker.stop if defined?(::SharedBroker) && !is_a?(::KafkaCase)
      super
    end

    def run = HangWatch.over(self.class.longest) { super }

    def after_teardown
      flunk "asserts nothing" if failures.empty? && assertions.zero?
    ensure
      super
    end
  end
end
