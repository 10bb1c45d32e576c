# frozen_string_literal: true

require "etc"

# What the figures were taken on.
#
#   Machine.facts   # => {"cpu" => "AMD EPYC…", "cores" => 2, "kernel" => "Linux 6.18.5", …}
#   Machine.line    # => "AMD EPYC…, 2 cores, Linux 6.18.5, glibc 2.36, ruby 3.1.2p20 …"
#
# Sources: proc(5), uname(2), confstr(3).
module Skep
  module CLI
    class Bench
      module Machine
        CPUINFO = "/proc/cpuinfo"
        private_constant :CPUINFO

        class << self
          def facts #: () -> Hash[String, String | Integer]
            system = Etc.uname
            { "cpu" => cpu(system), "cores" => Etc.nprocessors,
              "kernel" => "#{system[:sysname]} #{system[:release]}", "libc" => libc,
              "ruby" => RUBY_DESCRIPTION }
          end

          def line(facts = self.facts) #: (?Hash[String, String | Integer]) -> String
            cores = facts.fetch("cores")
            [facts["cpu"], "#{cores} core#{"s" unless cores == 1}",
             *facts.values_at("kernel", "libc", "ruby")].join(", ")
          end

          private

          def cpu(system)
            text = File.exist?(CPUINFO) ? File.read(CPUINFO) : ""
            text[/^(?:model name|Hardware|cpu model)\s*:\s*(.+)$/, 1] || system[:machine]
          end

          # glibc alone tells its version so.
          def libc
            Etc.confstr(Etc::CS_GNU_LIBC_VERSION)
          rescue NameError, SystemCallError # no such question here
            RbConfig::CONFIG["host_os"].include?("musl") ? "musl" : "another libc"
          end
        end
      end
    end
  end
end
