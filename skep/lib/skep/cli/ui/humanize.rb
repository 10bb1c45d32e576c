# frozen_string_literal: true

# Numbers in a few characters; nil is a dash.
#
#   Humanize.bytes(12_900_000)      # => "12.3M"
#   Humanize.rate(1234.5)           # => "1234"
#   Humanize.count(12_345_678)      # => "12.3M": millions
#   Humanize.counted(1, "node")     # => "1 node"
#   Humanize.duration(93_784)       # => "1d 2h"
#   Humanize.seconds(0.0645)        # => "64.5ms"
#   Humanize.exit_reason({ "signal" => "KILL", "reason" => "oom" })    # => "SIGKILL oom"
module Skep
  module CLI
    module UI
      module Humanize
        NONE = "-"
        MEBIBYTE = 1_048_576.0
        UNITS = { "d" => 86_400, "h" => 3600, "m" => 60, "s" => 1 }.freeze
        private_constant :MEBIBYTE, :UNITS

        module_function

        def bytes(bytes)
          return NONE unless bytes

          mebibytes = bytes / MEBIBYTE
          mebibytes < 1000 ? "#{mebibytes.round(1)}M" : "#{(mebibytes / 1024).round(1)}G"
        end

        def rate(rate)
          return NONE unless rate

          rate < 10 ? rate.round(1).to_s : count(rate.round)
        end

        def count(count)
          return NONE unless count
          return count.to_s if count < 100_000

          count < 1_000_000 ? "#{count / 1000}k" : "#{(count / 1e6).round(1)}M"
        end

        def counted(count, noun) = "#{count} #{noun}#{"s" unless count == 1}"

        # The two greatest units of it.
        def duration(seconds)
          left = seconds.floor
          parts = UNITS.map { |unit, size| [left / size, unit].tap { left %= size } }
          parts = parts.drop_while { |number, unit| number.zero? && unit != "s" }
          parts.first(2).map(&:join).join(" ")
        end

        # To three digits, in the unit that fits.
        def seconds(seconds)
          return NONE unless seconds
          return "#{format("%.3g", seconds)}s" if seconds >= 1

          seconds >= 0.001 ? "#{format("%.3g", seconds * 1e3)}ms" : "#{(seconds * 1e6).round}us"
        end

        # Of a node's `last_exit`.
        def exit_reason(last_exit)
          return NONE unless last_exit

          how = last_exit["signal"] ? "SIG#{last_exit["signal"]}" : last_exit["exit_status"]
          [how, last_exit["reason"]].compact.join(" ")
        end
      end
    end
  end
end
