# frozen_string_literal: true

module Incidents
  # The result of a campaign as text, and whether all was right.
  #
  #   row = Table.row(judgement)    # plain data
  #   Table.line(row)               # => "hang   no_progress   0.4 s   yes   0.2 s   0   right"
  #   puts Table.new(rows)
  #   Table.new(rows).good?
  class Table
    FORMAT = "%-22s %-23s %8s %6s %8s %6s  %s"
    HEAD = format(FORMAT, "incident", "kind", "named", "cause", "gone", "false", "")
    private_constant :FORMAT, :HEAD

    def self.row(judgement)
      { "incident" => judgement.incident.name, "kind" => judgement.incident.kind,
        "named" => judgement.named_after, "cause" => judgement.cause?,
        "gone" => judgement.gone_after, "false" => judgement.false_ones.size,
        "wrong" => judgement.why_wrong }
    end

    def self.line(row)
      seconds = row.values_at("named", "gone").map { |one| one ? "#{one} s" : "-" }
      format(FORMAT, row["incident"], row["kind"] || "none", seconds.first,
             row["cause"] ? "yes" : "NO", seconds.last, row["false"],
             row["wrong"] ? "WRONG: #{row["wrong"]}" : "right")
    end

    def initialize(rows)
      @rows = rows
    end

    def to_s
      sorted = @rows.sort_by { |row| row["incident"] }
      right = @rows.count { |row| row["wrong"].nil? }
      ["", HEAD, *sorted.map { |row|
  Table.line(row)
}, "#{right} of #{@rows.size} right"].join("\n")
    end

    def good? = @rows.any? && @rows.none? { |row| row["wrong"] }
  end
end
