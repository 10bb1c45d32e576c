# frozen_string_literal: true

require "etc"
require "io/wait"

# Facts about the machine that ran the benchmark.
#
#   Machine.facts   # => {"cpu" => "AMD EPYC…", "cores" => 2, "kernel" => "Linux 6.18.5", …}
#   Machine.line    # => "AMD EPYC…, 2 cores, 7.8 GiB, Linux 6.18.5, …, ruby 3.4.1 …, no YJIT"
#   Machine.busy    # => 3.5, the share of all processors that was used during the last two seconds
#
# Sources: proc(5), proc_stat(5), uname(2), confstr(3).
module Skep
  module Benchmarks
    module Machine
      CPUINFO = "/proc/cpuinfo"
      MEMINFO = "/proc/meminfo"
      STAT = "/proc/stat"
      LOADAVG = "/proc/loadavg"
      LOOK = 2 # seconds
      private_constant :CPUINFO, :MEMINFO, :STAT, :LOADAVG, :LOOK

      class << self
        def facts
          system = Etc.uname
          { "cpu" => cpu(system), "cores" => Etc.nprocessors,
            "memory" => memory, "kernel" => "#{system[:sysname]} #{system[:release]}",
            "libc" => libc, "ruby" => "#{RUBY_DESCRIPTION}, #{yjit}", "load" => load }
        end

        # Returns the percentage of all processors that other programs, and on a virtual machine
        # other machines, take now. Returns nil where there is no /proc.
        def busy
          before = ticks or return
          IO.pipe { |silence, _| silence.wait_readable(LOOK) }
          all, idle = ticks.zip(before).map { |late, early| late - early }
          (100.0 * (all - idle) / all).round(1)
        end

        def line(facts = self.facts)
          cores = facts.fetch("cores")
          [facts["cpu"], "#{cores} core#{"s" unless cores == 1}",
           *facts.values_at("memory", "kernel", "libc", "ruby")].compact.join(", ")
        end

        private

        # Returns the time of all processors since the boot, and how much of it they were idle.
        def ticks
          return unless File.exist?(STAT)

          user, nice, system, idle, wait, *more = File.read(STAT)[/^cpu +(.+)/, 1].split.map(&:to_i)
          [user + nice + system + idle + wait + more.first(3).sum, idle + wait]
        end

        # Returns the load of the last minute, five and fifteen.
        def load
          File.exist?(LOADAVG) ? File.read(LOADAVG).split.first(3).map(&:to_f) : []
        end

        def memory
          return unless File.exist?(MEMINFO)

          "#{(File.read(MEMINFO)[/^MemTotal: +(\d+)/, 1].to_i / 1_048_576.0).round(1)} GiB"
        end

        # RUBY_YJIT_ENABLE=1 switches it on in all programs of a benchmark.
        def yjit
          return "no YJIT" unless defined?(RubyVM::YJIT)

          RubyVM::YJIT.enabled? ? "YJIT on" : "YJIT off"
        end

        def cpu(system)
          text = File.exist?(CPUINFO) ? File.read(CPUINFO) : ""
          text[/^(?:model name|Hardware|cpu model)\s*:\s*(.+)$/, 1] || system[:machine]
        end

        # Only glibc reports its version this way.
        def libc
          Etc.confstr(Etc::CS_GNU_LIBC_VERSION)
        rescue NameError, SystemCallError # not supported here
          RbConfig::CONFIG["host_os"].include?("musl") ? "musl" : "another libc"
        end
      end
    end
  end
end
