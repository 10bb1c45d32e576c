# frozen_string_literal: true

require "fileutils"
require "tmpdir"

# One run: starts a broker and the swarm, writes messages, kills nodes, reads the ledgers.
#
#   Runner.new(plan, out: $stdout).run   # => Result, or raises Failed with a sentence
#
# INT, TERM or HUP stop it gracefully, a second one by force. When `run` returns, all processes that
# it has started have ended.
module Skep
  module Demo
    class Runner
      TURN = 0.1 # seconds between two looks at the ledgers
      STILL = 60.0 # seconds without progress until it gives up
      STOP = 45.0 # seconds for the swarm to end
      SAME_SECONDS = 0.05 # signals this close are one: timeout(1) sends to process and group
      SIGNALS = %w[INT TERM HUP].freeze
      private_constant :TURN, :STILL, :STOP, :SAME_SECONDS, :SIGNALS

      # keep: an IO to print the folder's name to; nil removes the folder.
      def initialize(plan, out: nil, keep: nil)
        @plan, @out, @keep = plan, out, keep
        @nodes = Nodes.new
        @produced = 0
        @phase = :booting
      end

      def run
        start
        turn until @status
        raise Failed, @failure if @failure

        result
      ensure
        finish
      end

      private

      def start
        trap_signals
        @folder = Dir.mktmpdir("skep-demo-")
        @ledgers = Ledgers.new(@folder, messages: @plan.messages)
        @topic = Topic.new(@plan.brokers)
        @topic.start
        @swarm = SwarmProcess.new(@topic, @folder, nodes: @plan.nodes)
        @progress = Progress.new(@plan, @out)
        @moved_at = OS.now
      end

      def finish
        [@swarm, @topic, @nodes].compact.each(&:close)
        @traps.each { |name, before| Signal.trap(name, before || "DEFAULT") }
        [@signals, @writer].each(&:close)
        return unless @folder

        @keep ? @keep.puts("demo: ledgers and log are in #{@folder}") : FileUtils.rm_r(@folder)
      end

      def trap_signals
        @signals, @writer = IO.pipe
        @traps = SIGNALS.to_h do |name|
          [name, Signal.trap(name) { @writer.write_nonblock("#{name}\n", exception: false) }]
        end
      end

      def turn
        wait
        @swarm.events.each { |event| @nodes.handle(event) }
        @moved_at = OS.now if @ledgers.read.positive?
        begin_work if @phase == :booting && @nodes.ready.size == @plan.nodes
        work if @phase == :working
        supervise
        ended if @swarm.status
        @progress.show(@ledgers.processed, @nodes.kills, @phase)
      end

      def wait
        readable, = IO.select([@signals, @swarm.log, @swarm.pidfd.to_io], nil, nil, TURN)
        interrupt(@signals.gets.chomp) if readable&.include?(@signals)
      end

      def interrupt(name)
        again = @interrupted_at && OS.now - @interrupted_at > SAME_SECONDS
        again ? @swarm.force : stop(failure: "stopped by SIG#{name} before its end")
        @interrupted_at ||= OS.now
      end

      def begin_work
        @phase = :working
        @began_at = @moved_at = OS.now
      end

      def work
        processed, kills = @ledgers.processed, @nodes.kills.size
        allowed = @plan.allowed(processed, kills)
        @produced += @topic.write(@produced...allowed) if allowed > @produced
        return if @nodes.recovering?

        if kills < @plan.kills
          @nodes.kill if processed >= @plan.kill_at(kills) && @nodes.ready.any?
        elsif processed == @plan.messages
          stop
        end
      rescue Kafka::DeliveryFailed => e
        stop(failure: e.message)
      end

      def supervise
        @swarm.force if @phase == :stopping && OS.now - @stopped_at > STOP
        return if @phase == :stopping || OS.now - @moved_at < STILL
        return stop(note: "nothing moved for #{STILL.round} s") if @began_at

        stop(failure: "the swarm isn't ready after #{STILL.round} s: #{@swarm.error}")
      end

      def stop(failure: nil, note: nil)
        return if @phase == :stopping

        @phase, @failure, @note, @stopped_at = :stopping, failure, note, OS.now
        @swarm.stop
      end

      def ended
        @status = Swarm::IPC::ExitStatus.of(@swarm.status)
        return if @phase == :stopping

        @failure = "the swarm ended early (#{@status}): #{@swarm.error}"
      end

      # Reads the ledgers from scratch: nothing writes to them any more.
      def result
        ledgers = Ledgers.new(@folder, messages: @plan.messages).tap(&:read)
        status = @status.exitstatus&.zero? ? nil : "#{@status}: #{@swarm.error}"
        Result.new(plan: @plan, produced: @produced, processed: ledgers.processed,
                   duplicates: ledgers.duplicates, kills: @nodes.kills, restarts: @nodes.restarts,
                   seconds: @moved_at - @began_at, swarm_failure: status, note: @note)
      end
    end
  end
end
