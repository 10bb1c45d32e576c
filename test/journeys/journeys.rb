# frozen_string_literal: true

# Counts the files, and the classes of objects, that run in eight operations of a swarm, over all of
# its processes: four of skep/swarm (SwarmJourneys) and four of skep/kafka (KafkaJourneys).
#
#   ruby test/journeys/journeys.rb [CHECKOUT [swarm|kafka]]   # another checkout, to compare
#
# A file runs when one of its methods is called (TracePoint, trace.rb); methods written in C don't
# count. A class or module whose own methods are called counts as an object, too. Each operation has
# a beginning and an end on the monotonic clock. It is repeated several times, and a file counts if
# it runs in any of these repetitions.
#
# The same rule for every checkout excludes background work from the Kafka operations. Before each
# operation the swarm is traced for 3 s while no message arrives: longer than the operation usually
# takes. A method that is called in this idle window doesn't count for the operation. A file counts
# if the operation calls at least one other method of it. The number of files without this rule is
# in brackets. Both numbers vary by a few from run to run, because a timer may call a method in an
# operation and in no idle window.
#
# VERBOSE=1 lists the files. A file in brackets runs only by methods that an idle node also calls.
require "json"
require "rbconfig"
require "tmpdir"
require_relative "running_swarm"

class Journeys
  TIMES = 3
  ROOT = File.expand_path("../..", __dir__)
  private_constant :TIMES, :ROOT

  def initialize(checkout) = @checkout = File.expand_path(checkout)

  def run
    operations.each do |name, operation|
      runs = Array.new(TIMES) { trace(operation) }
      calls, idle = runs.transpose.map { |each_run| each_run.reduce(:|) }
      report(name, files(calls), files(calls - idle), objects(calls - idle))
    end
  end

  private

  def report(name, entered, counted, objects)
    all = " (#{entered.size} with idle methods)" if idle_window?
    puts format("%3d files %3d objects  %s%s", counted.size, objects.size, name, all)
    return unless ENV["VERBOSE"]

    puts counted.map { |file| "           #{file}" }
    puts (entered - counted).map { |file| "          (#{file})" }
  end

  def files(calls) = calls.map(&:first).uniq.sort
  def objects(calls) = calls.map(&:last).uniq

  # Runs an operation in a new swarm. Returns the calls between its beginning and its end, and those
  # of its idle window.
  def trace(operation)
    Dir.mktmpdir("skep-journey") do |folder|
      @folder = folder
      Dir.mkdir("#{@folder}/trace")
      window =
        begin
          operation.call
        ensure
          finish
        end
      [calls(*window), @idle ? calls(*@idle) : []]
    end
  end

  # The environment in which the processes of a swarm are traced. RUBYOPT replaces that of Bundler,
  # which would add this checkout's lib to the load path.
  def traced
    { "SKEP_JOURNEY" => "#{@folder}/trace", "SKEP_JOURNEY_CHECKOUT" => @checkout,
      "RUBYOPT" => "-r#{__dir__}/trace.rb" }
  end

  def untraced = { "RUBYOPT" => nil, "SKEP_RUN_DIR" => @folder }

  # The command line of `skep` with these arguments.
  def skep(*arguments) = [RbConfig.ruby, "#{@checkout}/skep/exe/skep", *arguments]

  def run_file(name) = skep("run", "#{@folder}/#{name}.rb", "--log-format", "json")

  # Returns [file, method, class] of each method of the part that was called between these times.
  def calls(from, to)
    Dir["#{@folder}/trace/*"].flat_map { |file| File.readlines(file, chomp: true) }
                             .map { |line| line.split(" ", 4) }
                             .select { |at, path| path.match?(part) && at.to_f.between?(from, to) }
                             .map { |_, *call| call }.uniq
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

require_relative "swarm_journeys"
require_relative "kafka_journeys"

checkout = ARGV.fetch(0, "#{__dir__}/../..")
parts = { "swarm" => SwarmJourneys, "kafka" => KafkaJourneys }
parts = { ARGV[1] => parts.fetch(ARGV[1]) } if ARGV[1]
parts.each_value { |journeys| journeys.new(checkout).run }
