# frozen_string_literal: true

module TestSuite
  # A part of one class's tests, which one worker runs in one go. shares: what its worker keeps
  # running for the next unit that shares it; nil for nothing.
  Unit = Struct.new(:path, :class_name, :tests, :seconds, :alone, :shares, keyword_init: true) do
    # What is left of it when these tests have run.
    def without(names) = dup.tap { |unit| unit.tests = tests - names }
  end

  # Divides the tests into units, and orders the units: the longest first, so that no long one is
  # left at the end, and at random among equals.
  class Plan
    LONGEST = 3.0 # seconds of a unit with several tests
    private_constant :LONGEST

    # Collects what Minitest would run, with its filters applied and in its order.
    module Collect
      define_method(ONE_TEST) do |test_class, name, reporter|
        collected = Thread.current[:collected_tests]
        next super(test_class, name, reporter) unless collected

        collected << [test_class, name.to_s]
      end
    end
    Minitest::Runnable.singleton_class.prepend(Collect)

    class << self
      # Requires the files, and notes which file defines which class.
      def load(paths)
        paths.each do |path|
          known = Minitest::Runnable.runnables.dup
          require File.expand_path(path)
          (Minitest::Runnable.runnables - known).each { |test_class| homes[test_class.name] = path }
        end
      end

      def homes = @homes ||= {}
    end

    def initialize(files, durations)
      @files = files
      @durations = durations
    end

    # The file that a class of tests is defined in.
    def path(class_name) = self.class.homes.fetch(class_name, @files.first)

    # The block runs Minitest's own loop.
    def units(&)
      collect(&).group_by(&:first).flat_map do |test_class, tests|
        parts(test_class, tests.map(&:last)).map { |names| unit(test_class, names) }
      end.shuffle(random: Random.new(Minitest.seed)).sort_by.with_index do |unit, index|
        [-unit.seconds, index]
      end
    end

    private

    def collect
      Thread.current[:collected_tests] = []
      yield
      Thread.current[:collected_tests]
    ensure
      Thread.current[:collected_tests] = nil
    end

    def parts(test_class, names)
      parts = [[]]
      left = LONGEST
      names.each do |name|
        seconds = @durations.of(test_class.name, name)
        (parts << []) && left = LONGEST if seconds > left && parts.last.any?
        parts.last << name
        left -= seconds
      end
      parts
    end

    def unit(test_class, tests)
      seconds = tests.sum { |name| @durations.of(test_class.name, name) }
      Unit.new(path: path(test_class.name), class_name: test_class.name, tests:, seconds:,
               alone: test_class.respond_to?(:alone?) && test_class.alone?,
               shares: test_class.respond_to?(:shares) ? test_class.shares : nil)
    end
  end
end
