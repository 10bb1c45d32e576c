# frozen_string_literal: true

module Skep
  # Every test's class. A test is a sentence, asserts something, leaves nothing behind (Leaks), and
  # comes to its end: one that hangs fails with the place where it did.
  class TestCase < Minitest::Test
    include Leaks
    include Processes

    # Seconds; far beyond what the slowest test takes on the slowest machine.
    def self.longest = 240

    # Has the class's tests run after all others, while no other test runs. The reason is what they
    # share with other tests and can't have for themselves.
    def self.run_alone!(reason) = @alone = reason

    def self.alone? = !@alone.nil?

    def self.test(sentence, &block)
      name = :"test_#{sentence}"
      raise ArgumentError, "#{self} tests twice that it #{sentence}" if method_defined?(name, false)

      define_method(name, &block)
    end

    # Skips the test for want of something that can be installed; fails it where the machine
    # promises to have that (Means). `skip` is for what doesn't exist here: another Ruby, the C on
    # the fallback, rights.
    def missing(what)
      Means.promised? ? flunk("this machine promises, and doesn't have: #{what}") : skip(what)
    end

    # Ends what tests of another class share (SharedBroker).
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
