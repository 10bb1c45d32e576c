# frozen_string_literal: true

require "etc"

# Facts about the machine that ran the benchmark.
#
#   Machine.facts   # => {"cpu" => "AMD EPYC…", "cores" => 2, "kernel" => "Linux 6.18.5", …}
#   Machine.line    # => "AMD EPYC…, 2 cores, Linux 6.18.5, glibc 2.36, ruby 3.4.1 …, no YJIT"
#
# Sources: proc(5), uname(2), confstr(3).
module Skep
  module Benchmarks
    module Machine
      CPUINFO = "/proc/cpuinfo"
      private_constant :CPUINFO

      class << self
        def facts
          system = Etc.uname
          { "cpu" => cpu(system), "cores" => Etc.nprocessors,
            "kernel" => "#{system[:sysname]} #{system[:release]}", "libc" => libc,
            "ruby" => "#{RUBY_DESCRIPTION}, #{yjit}" }
        end

        def line(facts = self.facts)
          cores = facts.fetch("cores")
          [facts["cpu"], "#{cores} core#{"s" unless cores == 1}",
           *facts.values_at("kernel", "libc", "ruby")].join(", ")
        end

        private

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
