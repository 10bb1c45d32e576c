# frozen_string_literal: true

require "time"

# The log: one line an event, to stdout or a file, as text or JSON; to systemd's journal, where
# stdout is that, with a field for each fact (JournalEntry).
#
#   2026-01-31T10:00:00.123456Z INFO  node_ready swarm=billing node=0 mold=0 pid=42 seconds=0.012
#   {"time":"…","mono":1234.5,"level":"info","event":"node_ready","swarm":"billing","node":0,…}
#
# Lines that come before the configuration wait for it. A file is opened again at USR1. A line that
# can't be written (disk full, a reader that has gone, a pipe that is full) is counted and told with
# the next that can: it never blocks or ends the swarm.
module Skep
  module Watch
    class Log < Swarm::Supervisor::Observer
      LEVELS = { debug: 0, info: 1, warn: 2, error: 3 }.freeze
      LAST_SECONDS = 2.0 # for a slow reader, at the end
      private_constant :LEVELS, :LAST_SECONDS

      #: (?output: IO, ?journal: Journal) -> void
      def initialize(output: $stdout, journal: Journal.new)
        super()
        @journal = journal
        @journaled = journal.behind?(output)
        @outlet = Outlet.on(output)
        @early = []
      end

      def event(name, level, facts) #: (String, Symbol, Hash) -> void
        line = [Time.now.utc, Skep::OS.now, name, level, facts]
        @config ? write(*line) : @early << line
      end

      def configured(supervisor) #: (Swarm::Supervisor) -> void
        @loop = supervisor.loop
        follow(supervisor.config)
      end

      # What was too much for its reader is written by the next program.
      #: (Swarm::Rollout::Upgrade::StateFile) -> Hash[String, untyped]
      def dump(_state_file) = @outlet.dump

      def resumed(supervisor, kept, _state_file)
        @loop = supervisor.loop
        @config = supervisor.config
        reopen
        @outlet.restore(kept) if kept
        follow_on
      end

      # From here on lines are written, as this configuration says.
      def follow(config) #: (Swarm::Definition::Config) -> void
        @config = config
        reopen
        follow_on
      end

      def reopen #: () -> void
        if @config&.log
          flags = File::WRONLY | File::APPEND | File::CREAT | File::NONBLOCK
          use(Outlet.new(File.open(@config.log, flags, 0o644)))
        elsif @config && format == :journal && !@file
          use(@journal.post)
        end
        @outlet.loop = @loop if @loop
      rescue SystemCallError => e
        raise Unwritable.new(path: @config.log, error: e.message)
      end

      def disown = @file && @outlet.close #: () -> void

      def closed #: () -> void
        @outlet.finish(LAST_SECONDS)
        @outlet.close if @file
      end

      class Unwritable < Skep::Error
        def initialize(path:, error:)
          super("the log #{path} can't be written, #{error}: " \
                "name a file in a directory that can be written to")
        end

        def exit_code = ExitCode::CONFIGURATION #: () -> Integer
      end

      private

      def follow_on
        @early.each { |line| write(*line) }
        @early.clear
      end

      def write(time, mono, name, level, facts)
        return if LEVELS.fetch(level, 1) < LEVELS.fetch(@config.log_level)

        lost = @outlet.lost
        facts = { lost_lines: lost, **facts } if lost.positive?
        facts = Redaction.of({ swarm: @config.name, **facts.transform_keys(&:to_sym) })
        @outlet.put(line(time, mono, name, level, facts), telling: lost)
      end

      def line(time, mono, name, level, facts)
        case format
        when :journal then JournalEntry.of(name, level, facts)
        when :json then json(time, mono, name, level, facts)
        else text(time, name, level, facts)
        end
      end

      def format
        return @config.log_format unless @config.log_format == :auto

        @journaled && !@config.log ? :journal : :text
      end

      def use(outlet)
        @outlet.close if @file
        @file = true
        outlet.lost += @outlet.lost # they are told of in the new file
        @outlet = outlet
      end

      def json(time, mono, name, level, facts)
        facts = { time: time.iso8601(6), mono: mono.round(6), level:, event: name, **facts }
        "#{JSON.generate(Swarm::IPC::PlainData.of(facts))}\n"
      end

      def text(time, name, level, facts)
        "#{time.iso8601(6)} #{level.to_s.upcase.ljust(5)} #{Wording.of(name, facts)}\n"
      end
    end
  end
end
