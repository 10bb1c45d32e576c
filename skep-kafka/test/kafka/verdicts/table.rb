# frozen_string_literal: true

require "kafka/verdicts/fault"

module Verdicts
  # The result of a campaign by kind, as text, and whether it is good enough.
  #
  #   puts Table.new(observed)         # observed: Observation#to_plain, with string keys
  #   Table.new(observed).good?        # at least 98% right, and no good message condemned
  #
  # seconds: until the verdict; of a dependency, from its return to the first message handled.
  # in time: within 10 s of an ill process, within 2 s of a dependency's return.
  class Table
    ENOUGH = 0.98
    IN_TIME = { "process" => 10.0, "dependency" => 2.0 }.freeze
    HEAD = format("%-15s %6s %7s %9s %5s %8s %8s %8s",
                  *%w[kind faults right condemned lost median worst], "in time")
    private_constant :ENOUGH, :IN_TIME, :HEAD

    def initialize(observed)
      @observed = observed
    end

    def to_s
      groups = @observed.group_by { |one| one["kind"] }.sort_by { |kind, _| KINDS.index(kind) }
      [HEAD, *groups.map { |kind, some| row(kind, some) }, row("all", @observed)].join("\n")
    end

    def good?
      @observed.any? && share(@observed) >= ENOUGH && condemned(@observed).zero?
    end

    private

    def row(kind, some)
      times = kind == "all" ? [] : some.filter_map { |one| seconds(one) }.sort
      format("%-15s %6d %6.1f%% %9d %5d %8s %8s %8s", kind, some.size, share(some) * 100,
             condemned(some), some.sum { |one| one["lost"] }, shown(times[times.size / 2]),
             shown(times.last), in_time(some))
    end

    def share(some) = some.count { |one| one["right"] }.fdiv(some.size)
    def condemned(some) = some.sum { |one| one["good_condemned"] }
    def seconds(one) = one[one["cause"] == "dependency" ? "back_after" : "seconds"]
    def shown(seconds) = seconds ? format("%.1f s", seconds) : "-"

    def in_time(some)
      limited = some.select { |one| IN_TIME.key?(one["cause"]) }
      return "-" if limited.empty?

      good = limited.count { |one| seconds(one)&.<=(IN_TIME.fetch(one["cause"])) }
      format("%.0f%%", good * 100.0 / limited.size)
    end
  end
end
