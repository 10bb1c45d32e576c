# frozen_string_literal: true

require "etc"

module Skep
  module Watch
    class Web
      # The processor's time that nodes take, from one look to the next: proc(5), /proc/PID/stat.
      #
      #   processor = Processor.new
      #   processor.of({ "0" => 4711 }, OS.now)     # => {}, then {"0" => 0.25}: of one processor
      class Processor
        USER, SYSTEM, BEGUN = 11, 12, 19 # fields, counted from the state
        private_constant :USER, :SYSTEM, :BEGUN

        def initialize(hertz: Etc.sysconf(Etc::SC_CLK_TCK)) #: (?hertz: Integer) -> void
          @hertz = hertz
          @before = {}
        end

        #: (Hash[String, Integer?], Float) -> Hash[String, Float]
        def of(pids, now)
          seen = pids.to_h { |id, pid| [id, pid && look(pid, now)] }.compact
          seen.to_h { |id, sight| [id, part(@before[id], sight)] }.compact
        ensure
          @before = seen
        end

        private

        # A pid that is another process' by now has another beginning.
        def look(pid, now)
          text = File.binread("/proc/#{Integer(pid)}/stat")
          fields = text[(text.rindex(")") + 2)..].split
          [fields[USER].to_i + fields[SYSTEM].to_i, now, fields[BEGUN], pid]
        rescue SystemCallError, TypeError, ArgumentError # gone, or no Linux
          nil
        end

        def part(before, (ticks, now, *who))
          return unless before && before[2..] == who && now > before[1]

          ((ticks - before[0]) / @hertz.to_f / (now - before[1])).round(3)
        end
      end
      private_constant :Processor
    end
  end
end
