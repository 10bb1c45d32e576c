# frozen_string_literal: true

# The log: one line for each event, to stdout or a file, as text or JSON. If stdout is systemd's
# journal, an entry with a field for each fact (JournalFormatter).
#
#   2026-01-31T10:00:00.123456Z INFO  node_ready swarm=billing node=0 mold=0 pid=42 duration=0.012
#   {"time":"…","mono":1234.5,"level":"info","event":"node_ready","swarm":"billing","node":0,…}
#
# Events that happen before the configuration is known wait for it. USR1 opens a file again. A line
# that can't be written (disk full, no reader, a full pipe) is counted, and reported with the next
# line that can, or at the end on stderr: the log never blocks or ends the swarm.
module Skep
  module Log
    class EventLog < Swarm::Supervisor::Observer
      LEVELS = { debug: 0, info: 1, warn: 2, error: 3 }.freeze
      FINISH_TIMEOUT = 2.0 # for a slow reader, at the end
      private_constant :LEVELS, :FINISH_TIMEOUT

      def initialize(output: $stdout, journal: Journal.new)
        super()
        @journal = journal
        @journal_output = journal.behind?(output)
        @writer = StreamWriter.for(output)
        @early = []
      end

      def event(name, level, facts)
        line = [Time.now.utc, OS.now, name, level, facts]
        @config ? write(*line) : @early << line
      end

      def configured(supervisor)
        @loop = supervisor.loop
        start(supervisor.config)
      end

      # Writes from now on, as the configuration says.
      def start(config)
        @config = config
        reopen
        write_early
      end

      def reopen
        if @config&.log
          flags = File::WRONLY | File::APPEND | File::CREAT | File::NONBLOCK
          use(StreamWriter.new(File.open(@config.log, flags, 0o644)))
        elsif @config && format == :journal && !@opened
          use(@journal.writer)
        end
        @writer.loop = @loop if @loop
      rescue SystemCallError => e
        raise Unwritable.new(path: @config.log, error: e.message)
      end

      def close_in_child = @opened && @writer.close_in_child

      def on_close
        @writer.finish(FINISH_TIMEOUT)
        lost = @writer.give_up
        @writer.close if @opened
        report_on_stderr(lost) if lost.positive?
      end

      private

      # No line of the log can: that was the last one. Never waits either.
      def report_on_stderr(lost)
        StreamWriter.for($stderr).write("skep: #{lost} lines of the log could not be written\n")
      end

      def write_early
        @early.each { |line| write(*line) }
        @early.clear
      end

      def write(time, mono, name, level, facts)
        return if LEVELS.fetch(level, 1) < LEVELS.fetch(@config.log_level)

        lost = @writer.lost
        facts = { lost_lines: lost, **facts } if lost.positive?
        facts = Redaction.of({ swarm: @config.name, **facts.transform_keys(&:to_sym) })
        @writer.write(line(time, mono, name, level, facts), reports: lost)
      end

      def line(time, mono, name, level, facts)
        case format
        when :journal then JournalFormatter.format(name, level, facts)
        when :json then JsonFormatter.format(time, mono, name, level, facts)
        else TextFormatter.format(time, name, level, facts)
        end
      end

      def format
        return @config.log_format unless @config.log_format == :auto

        @journal_output && !@config.log ? :journal : :text
      end

      # opened: the writer is this log's own, not the process' stdout.
      def use(writer)
        @writer.close if @opened
        @opened = true
        writer.lost += @writer.lost # the new writer reports them
        @writer = writer
      end
    end
  end
end
