# frozen_string_literal: true

require "skep/control"
require "tmpdir"

# `bin/bench profile`: what `skep profile` costs the nodes that it samples. One swarm works all the
# time; its throughput is measured with and without a profile in turns, by CPU time of the nodes,
# which other programs on the machine disturb least, and by the clock.
#
#   Profile.new(rounds: 1, nodes: 2, seconds: 0.5).run   # => Report
module Skep
  module Benchmarks
    class Profile < Benchmark
      TITLE = "throughput beside a profile"
      UNIT = "items per CPU second"
      ROUNDS = 20
      SIZES = { nodes: 4, seconds: 3.0 }.freeze
      WITHOUT, BESIDE = "without a profile", "beside a profile"
      CLOCK = "items/s"
      CONTROL = "control threads, % of CPU"
      BOOT_SECONDS = 60
      LEAD = 0.5 # seconds of a profile before the measurement
      TIMEOUT = 30.0
      PROGRAM = File.expand_path("profile/swarm.rb", __dir__)
      private_constant :WITHOUT, :BESIDE, :CLOCK, :CONTROL, :BOOT_SECONDS, :LEAD, :TIMEOUT, :PROGRAM

      def around
        Dir.mktmpdir do |directory|
          start(directory)
          yield
        ensure
          stop
        end
      end

      def subjects
        [Subject.new(WITHOUT, ours: true) { throughput },
         Subject.new(BESIDE, against: WITHOUT, ours: true) { beside_a_profile }]
      end

      def goals(rows)
        median = spread(rows, UNIT)&.median
        [Goal.at_least("throughput beside a profile, median of the rounds' ratios", median, 0.98)]
      end

      def derived(rows)
        { "ratio in each round" => UNIT, "by the clock" => CLOCK }.filter_map do |name, column|
          spread = spread(rows, column) or next
          low, high = [spread.low, spread.high].map { |figure| Figures.text(figure) }
          DerivedFigure.new(name:, figure: spread.median, unit: "x",
                            note: "quartiles #{low} and #{high}")
        end
      end

      private

      # The ratios in each round, so that what changes on the machine meanwhile affects both. nil:
      # one of them wasn't measured.
      def spread(rows, column)
        with, without = [BESIDE, WITHOUT].map { |name| rows[name].samples.fetch(column, []) }
        ratios = with.zip(without).filter_map { |one, other| one / other if other }
        Spread.new(*Statistics.quartiles(ratios)) if ratios.any?
      end

      def start(directory)
        path = "#{directory}/bench.sock"
        env = { "BENCH_NODES" => size(:nodes).to_s, "SKEP_RUN_DIR" => directory }
        @pidfd = Skep.pidfd(Process.spawn(env, RbConfig.ruby, Checkout.exe, "run", PROGRAM,
                                          out: File::NULL, err: File::NULL, pgroup: true))
        @client = Control::Client.new(path)
        deadline = OS.now + BOOT_SECONDS
        IO.select(nil, nil, nil, 0.2) until ready?(path) || OS.now > deadline
      end

      def ready?(path)
        File.socket?(path) && nodes.size == size(:nodes) &&
          nodes.all? { |node| node["state"] == "ready" }
      rescue Control::Unreachable
        false
      end

      def stop
        @pidfd&.signal(:TERM)
        @pidfd&.wait(timeout: TIMEOUT)
        @pidfd&.close
      end

      def nodes = @client.status["nodes"]

      def throughput
        before = count
        IO.select(nil, nil, nil, size(:seconds))
        items, cpu, seconds = count.zip(before).map { |after, earlier| after - earlier }
        { UNIT => items / cpu, CLOCK => items / seconds }
      end

      def beside_a_profile
        seconds = size(:seconds) + (2 * LEAD)
        profile = Thread.new { @client.call("profile", seconds:, timeout: seconds + TIMEOUT) }
        IO.select(nil, nil, nil, LEAD)
        figures = throughput
        answer = profile.value
        return { **figures, CONTROL => control_share(answer) } if answer["profile"]

        raise Subject::Skipped, "there was no profile: #{answer["error"]}"
      end

      # Percent of the nodes' CPU time that their control threads use, which do the sampling.
      def control_share(answer)
        profile = Control::Profile.of(answer["profile"])
        100 * profile.select(thread: "skep.control").seconds("cpu") / profile.seconds("cpu")
      end

      # Returns items, CPU seconds of the nodes, and the time.
      def count
        nodes = self.nodes
        [nodes.sum { |node| node.dig("work", "done") }, nodes.sum { |node| cpu(node["pid"]) },
         OS.now].map(&:to_f)
      end

      # The clock of a process by its number: clock_getcpuclockid(3).
      def cpu(pid) = Process.clock_gettime((~pid << 3) | 2)
    end
  end
end
