# frozen_string_literal: true

# A process that runs tests for a TestSuite::Pool:
#
#   ruby -w -r./test/load_path test/support/suite/worker.rb COMMANDS RESULTS [Minitest's options]
#
# COMMANDS and RESULTS are numbers of inherited descriptors. The worker reads a unit per line, loads
# its file, and reports the beginning and the result of each test. It exits at the end of COMMANDS.

# Ruby before 3.3 keeps the system's thread of a Thread that has ended for 3 s, for the next one.
# Then it frees that thread's signal stack, even if Ruby itself has ended at just this moment, which
# crashes. New threads take over what is kept, and as they end another 3 s begin. This is registered
# first, so it runs last.
at_exit do
  ends = Queue.new
  threads = Array.new(64) { Thread.new { ends.pop } }
  ends.close
  threads.each(&:join)
end

require "test_helper"
require "support/suite/minitest_names"
require "support/suite/wire"

module TestSuite
  # The worker's side of its pipes, in place of Minitest's loop and its reporters.
  class Worker < Minitest::AbstractReporter
    # In place of Minitest's loop over all tests.
    module Run
      define_method(LOOP) { |reporter, _options| reporter.reporters.first.run(reporter) }
    end

    def initialize(commands, results)
      super()
      @commands, @results = [commands, results].each { |io| io.close_on_exec = true }
      @pid = Process.pid
    end

    def run(reporter)
      while Process.pid == @pid && (line = @commands.gets)
        run_unit(JSON.parse(line), reporter)
        send_message(["done"])
      end
    rescue Interrupt # which the terminal sent to all of them: the parent reports it
      exit(130)
    end

    def prerecord(_test_class, name) = send_message(["began", name])

    def record(result) = send_message(["result", Wire.dump(result)])

    private

    def run_unit(unit, reporter)
      require File.expand_path(unit["path"])
      test_class = Object.const_get(unit["class_name"])
      srand(Minitest.seed)
      unit["tests"].each { |name| test_class.public_send(ONE_TEST, test_class, name, reporter) }
    end

    # Exits in a child that a test forked and that has returned to this code.
    def send_message(message)
      exit!(1) unless Process.pid == @pid

      @results.write(Wire.line(message))
    end
  end
end

pipes = ARGV.shift(2).map { |number| Integer(number) }
commands, results = IO.for_fd(pipes[0], "r"), IO.for_fd(pipes[1], "w")
results.sync = true
worker = TestSuite::Worker.new(commands, results)
Minitest.singleton_class.prepend(TestSuite::Worker::Run)
extension = Module.new do
  define_singleton_method(:minitest_plugin_init) do |_|
    Minitest.reporter.reporters.replace([worker])
  end
end
Minitest.extensions << extension
