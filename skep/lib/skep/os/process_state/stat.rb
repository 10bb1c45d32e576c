# frozen_string_literal: true

module Skep
  module OS
    class ProcessState
      # The line that the kernel has for each process and thread.
      #
      #   stat = Stat.of("/proc/42/stat")   # nil once it is gone, and without /proc
      #   stat.name        # => "ruby", at most 15 bytes
      #   stat.state       # => "S", "Z", …
      #   stat.parent      # => pid
      #   stat.cpu         # => seconds of processor time so far, of all its threads
      #   stat.started     # => clock ticks between the host's start and its own
      #   stat.exit_code   # => as wait(2) returns it; 0 without permission
      #
      # Source: proc(5), /proc/pid/stat.
      class Stat < Struct.new(:name, :state, :parent, :cpu, :started, :exit_code,
                              keyword_init: true)
        HERTZ = Etc.sysconf(Etc::SC_CLK_TCK)
        private_constant :HERTZ

        def self.of(path)
          parse(OS.machine.read(path))
        rescue SystemCallError
          nil
        end

        # The name is in parentheses and may contain any byte, cut within a character: the last ")"
        # ends it.
        def self.parse(text)
          head, _, rest = text.b.rpartition(")")
          fields = rest.split
          name = head.partition("(").last.force_encoding(Encoding::UTF_8).scrub
          new(name:, state: fields[0], parent: fields[1].to_i, started: fields[19].to_i,
              cpu: fields[11, 2].sum(&:to_i).fdiv(HERTZ), exit_code: fields[49].to_i).freeze
        end
      end
    end
  end
end
