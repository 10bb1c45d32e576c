# frozen_string_literal: true

require "scenario/kafka/scenario"
require "kafka/verdicts/life"
require "kafka/verdicts/plan"
require "kafka/verdicts/table"
require "json"
require "tmpdir"

module Verdicts
  # Runs the lives of a plan, some at once, each in a process of its own, and prints each fault and
  # a table. The events of a fault with a wrong verdict are kept in tmp/verdicts.
  #
  #   Campaign.new(Plan.all("all", 30, 1), at_once: 2, seconds: nil, report: nil).run
  #   # => true: good enough
  class Campaign
    # A real broker for all lives, on a port that PORT names or on any one.
    class Broker < KafkaScenario::Broker
      private

      def free_port = ENV.key?("PORT") ? Integer(ENV.fetch("PORT")) : super
    end

    LOGS = "tmp/verdicts"
    private_constant :Broker, :LOGS

    def initialize(plans, at_once:, seconds:, report:)
      @plans, @at_once, @report = plans, at_once, report
      @ends_at = seconds && (Skep::OS.now + seconds)
    end

    def run
      FileUtils.mkdir_p(LOGS)
      observed = Dir.mktmpdir("skep-verdicts") do |directory|
        with_broker(directory) { |address| in_processes(directory, address) }
      end
      table = Table.new(observed)
      puts table
      table.good?
    end

    private

    def with_broker(directory)
      return yield unless KafkaScenario::Broker::PROGRAM

      Dir.mkdir(place = File.join(directory, "broker"))
      broker = Broker.new(place)
      begin
        yield broker.address
      ensure
        broker.finish
      end
    end

    # Each process runs every so-many-th life, and writes a line for each fault.
    def in_processes(directory, address)
      reader, writer = IO.pipe
      pids = Array.new([@at_once, @plans.size].min) do |index|
        fork do
          reader.close
          @plans.each_slice(@at_once).filter_map { |some| some[index] }.each do |plan|
            live(plan, directory, address, writer)
          end
        end
      end
      writer.close
      reader.each_line.map { |line| told(line) }
    ensure
      finish(pids)
    end

    def finish(pids)
      pids.each { |pid| Process.kill(:TERM, pid) } # each is still there: it is waited for below
      pids.each { |pid| Process.wait(pid) }
    end

    def live(plan, directory, address, writer)
      return if @ends_at && Skep::OS.now > @ends_at

      Dir.mkdir(place = File.join(directory, plan.seed.to_s))
      File.chmod(0o755, directory)
      Life.new(plan, place, address, ends_at: @ends_at).run do |seen, events|
        keep(seen, events) unless seen.right?
        writer.puts(JSON.generate(seen.to_plain))
      end
    end

    def keep(seen, events)
      path = "#{LOGS}/#{seen.seed}-#{seen.number}-#{seen.fault.kind}.log"
      File.write(path, [seen.to_plain, *events].map { |event| "#{JSON.generate(event)}\n" }.join)
    end

    def told(line)
      File.write(@report, line, mode: "a") if @report
      one = JSON.parse(line)
      options = one["options"].values_at("ordered_by", "threads", "dead_letters", "max_attempts",
                                         "retry_for", "on_poison", "marks")
      puts format("%5d-%d %-15s %-5s %6s s %6s s  %s  %s", one["seed"], one["number"], one["kind"],
                  one["right"] ? "right" : "WRONG", one["seconds"] || "-", one["back_after"] || "-",
                  options.join(" "), one["why"])
      one
    end
  end
end
