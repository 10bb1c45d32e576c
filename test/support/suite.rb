# frozen_string_literal: true

# Runs the given test files in several processes. Without arguments it runs all but test/benchmark;
# with SKEP_PURE=1 those of the parts that have a fallback in Ruby, and of their users.
#
#   ruby -w -r./test/load_path test/support/suite.rb [FILE or FOLDER...] [Minitest's options]
#
# `--processes N` or SKEP_TEST_PROCESSES=N sets how many. With 1, which is the default for a single
# file, the tests run in this process. Scenarios are separate programs and never run here.

require "test_helper"
require "etc"
require "support/suite/minitest_names"
require "support/suite/durations"
require "support/suite/plan"
require "support/suite/pool"
require "support/suite/reports"

# Decides which tests run in which process. It replaces only Minitest's loop over the tests: its
# options, reporters and exit code stay.
module TestSuite
  ROOT = File.expand_path("../..", __dir__)
  WORKERS_PER_PROCESSOR = 4 # a test mostly waits
  DURATIONS = ENV.fetch("SKEP_TEST_SECONDS", "#{ROOT}/tmp/test_seconds.json")
  WITH_FALLBACKS = %w[skep/test/os skep/test/fork skep/test/swarm skep/test/pid_cache_test.rb
                      skep-kafka/test/kafka/librdkafka skep-kafka/test/kafka/flow_test.rb
                      skep-kafka/test/kafka/group_test.rb skep-reshare/test].freeze
  private_constant :ROOT, :WORKERS_PER_PROCESSOR, :DURATIONS, :WITH_FALLBACKS

  # Runs Minitest's loop in a pool of workers, if more than one process is to run the tests.
  module Run
    define_method(LOOP) do |reporter, options|
      TestSuite.run(reporter, options) { super(reporter, options) }
    end
  end

  class << self
    # Called by Minitest, as an extension of it.
    def minitest_plugin_options(parser, options)
      parser.on "--processes N", Integer, "Number of processes that run tests." do |number|
        options[:processes] = number
      end
    end

    def minitest_plugin_init(options)
      durations = Durations.new(DURATIONS)
      @plan = Plan.new(@files, durations)
      reporters = Minitest.reporter.reporters
      reporters.unshift(durations) if several_files?
      reporters.unshift(Reruns.new(options[:io], options, @plan))
      reporters.unshift(Slowest.new(options[:io], options, @plan)) if several_files?
    end

    # Loads the test files; Minitest runs them when the program ends.
    def start(arguments)
      named, options = arguments.partition { |argument| File.exist?(argument) }
      arguments.replace(options)
      @files = named.empty? ? all_files : test_files(named)
      Plan.load(@files)
      Minitest.singleton_class.prepend(Run)
      Minitest.extensions << self
    end

    def run(reporter, options, &in_this_process)
      count = processes(options)
      return in_this_process.call if count == 1

      units = @plan.units(&in_this_process)
      return if units.empty?

      seed = ["--seed", Minitest.seed.to_s]
      seed << "-Werror" if options[:Werror]
      Pool.new(units, [count, units.size].min, reporter, seed).run
    end

    private

    def several_files? = @files.size > 1

    def all_files
      return test_files(WITH_FALLBACKS) if ENV["SKEP_PURE"] == "1"

      test_files(["test", *Dir["skep*/test"].sort]).grep_v(%r{\Atest/benchmark/})
    end

    def test_files(paths)
      paths.flat_map { |path| File.directory?(path) ? Dir["#{path}/**/*_test.rb"].sort : path }
           .map { |path| File.expand_path(path).delete_prefix("#{ROOT}/") }
           .uniq.grep_v(%r{\Atest/scenario/})
    end

    def processes(options)
      count = options[:processes] || Integer(ENV.fetch("SKEP_TEST_PROCESSES") { default })
      count.positive? or abort "suite: the number of processes must be 1 or more: #{count}"
      count
    end

    def default = several_files? ? [WORKERS_PER_PROCESSOR * Etc.nprocessors, 4].max : 1
  end
end

TestSuite.start(ARGV)
