# frozen_string_literal: true

require "skep/swarm/diagnosis"

# What is wrong with the consumer groups of a status: a pure function of its facts and the time, for
# Plugin#problems. It looks only at partitions of whose rows something says so, as there may be
# thousands, and only at those of nodes that live.
#
#   GroupStatus::Problems.of(status)   # => a list of Swarm::Diagnosis.problem
#
# | kind | level | the facts |
# |---|---|---|
# | broker_unreachable | critical | a node's client has had no answer of any broker (BrokerOutage) |
# | no_assignment | critical; if another node of the group has one: warning | a rebalance lasts |
# | dependency_away | critical; a part: warning | the verdict on what fails (FailureCause) |
# | dead_letter_not_written | critical | a message has failed for good, and stays where it is |
# | partition_held | critical | `on_error` or `on_poison` says :pause of its message |
# | partition_blocked | critical | by key: nothing more is read beyond a message that fails |
# | partition_stalled | warning | it has had messages for half of stall_timeout, and none comes |
# | partition_failing | warning | a message fails, for another cause |
# | lag_unknown | warning | for UNKNOWN seconds |
# | clocks_apart | warning | a message of the last minute has shown it (skep-rails' delayed jobs) |
# | partition_paused | info | by `batch.pause`, for some seconds at least |
#
# Of a topic, partitions with the same problem and cause are one problem if there are more than
# SINGLE, or if a dependency is unavailable.
module Skep
  module Kafka
    class GroupStatus
      class Problems
        KINDS = %w[broker_unreachable no_assignment dependency_away dead_letter_not_written
                   partition_held partition_blocked partition_stalled partition_failing lag_unknown
                   clocks_apart partition_paused].freeze
        TROUBLE = %w[failing stalling_since paused_until lag_unknown_since].freeze # of a row
        SINGLE = 5
        UNKNOWN = 15.0 # seconds in which a node finds the lag of its partitions
        CLOCKS = 60.0 # seconds that a message counts
        DEPLOYED = 120.0 # seconds after a reload began, in which its code is suspected
        OWN = /\A(?:NoMethod|Name|Argument|Type|Key|Index|ZeroDivision)Error\b/ # errors of code
        PROCESS = %w[process another_process].freeze # causes that a new process shows or ends
        private_constant :TROUBLE, :SINGLE, :UNKNOWN, :CLOCKS, :DEPLOYED, :OWN, :PROCESS

        # What is wrong with a partition. row: of the node's report.
        Trouble = Struct.new(:node, :work, :row, :kind) do
          def topic = row["topic"]
          def place = "#{row["topic"]}/#{row["partition"]}"
          def failing = row["failing"]
          def cause = (failing["cause"] if failing && kind != "partition_stalled")
        end
        private_constant :Trouble

        class << self
          def of(status, now = OS.now) = new(status, now).to_a

          # failing: of a partition's row.
          def kind(failing)
            return "partition_held" if failing["held"]
            return "dead_letter_not_written" if failing["undelivered"]
            return "dependency_away" if failing["cause"].end_with?("dependency")

            failing["blocked"] ? "partition_blocked" : "partition_failing"
          end

          # Returns the level of that problem.
          def level(failing)
            part = failing["cause"] != "dependency" if kind(failing) == "dependency_away"
            part || kind(failing) == "partition_failing" ? "warning" : "critical"
          end
        end

        def initialize(status, now)
          @status, @now = status, now
          @nodes = status["nodes"].to_a.select { |node| report?(node["work"]) }
        end

        def to_a
          live, ended = @nodes.partition { |node| !GroupStatus.ended?(node) }
          troubles = live.flat_map { |node| troubles(node) }
          unknown, others = troubles.partition { |one| one.kind == "lag_unknown" }
          same = others.group_by do |one|
            [one.work, one.node["work"]["group"], one.topic, one.kind, one.cause]
          end
          [*unreachable(live), *unassigned(live),
           *same.each_value.flat_map { |some| problems(some) },
           *lag_unknown(unknown, live, ended), *clocks(live)]
        end

        def inspect = "#<#{self.class} #{@nodes.size} nodes>"

        private

        def report?(work)
          work.is_a?(Hash) && work["kind"] == "kafka" && work["group"].is_a?(String) &&
            work["partitions"].is_a?(Array)
        end

        def troubles(node)
          name = Swarm::Diagnosis.work_name(@status, node)
          rows = node["work"]["partitions"].select { |row| trouble?(row) && GroupStatus.row?(row) }
          rows.flat_map { |row| kinds(row).map { |kind| Trouble.new(node, name, row, kind) } }
        end

        def trouble?(row) = row.is_a?(Hash) && row["held"] && TROUBLE.any? { |fact| row[fact] }

        def kinds(row)
          [*(self.class.kind(row["failing"]) if row["failing"]),
           *("partition_stalled" if row["stalling_since"]),
           *("partition_paused" if row["paused_until"].to_f > @now),
           *("lag_unknown" if @now - (row["lag_unknown_since"] || @now) >= UNKNOWN)]
        end

        def problems(some)
          kind = some.first.kind
          return [about_all(some)] if some.size > SINGLE || kind == "dependency_away"

          some.map { |one| problem(one, one.place, **facts(one, [one])) }
        end

        # The oldest one stands for all.
        def about_all(some)
          oldest = some.max_by { |one| since(one).to_f }
          subject = some.one? ? oldest.place : "#{oldest.topic}, #{counted(some.size)}"
          facts = facts(oldest, some)
          text = facts[:text]
          text = "#{oldest.place}: #{text}" unless some.one? || facts[:whole]
          { **problem(oldest, subject, **facts.except(:whole), text:),
            "node" => only_id(some.map(&:node)) }
        end

        # The id of the node that all of these are, or nil. (A report can be large: to compare two
        # as a whole takes long.)
        def only_id(nodes)
          id = nodes.first["id"]
          id if nodes.all? { |node| node["id"] == id }
        end

        def problem(one, subject, level:, text:, doing:, advice:, at: nil, **)
          Swarm::Diagnosis.problem(one.kind, level, subject:, text:, doing:, advice:, at:,
                                   since: since(one), work: one.work, node: one.node["id"])
        end

        def since(one)
          case one.kind
          when "partition_stalled" then @now - one.row["stalling_since"]
          when "partition_paused" then nil
          else @now - one.failing["since"]
          end
        end

        def facts(one, some)
          case one.kind
          when "dependency_away" then dependency(one.failing, some)
          when "partition_stalled" then stalled(one.row)
          when "partition_paused" then paused(one.row)
          else failing(one.kind, one.failing)
          end
        end

        def dependency(failing, some)
          whole = failing["cause"] == "dependency"
          what = whole ? "nothing succeeds in any node" : "many messages fail together"
          code = new_code(failing)
          what += code || ": #{"a part of " unless whole}a dependency is unavailable, or the " \
                          "handler fails with all of them"
          { level: self.class.level(failing), at: failing["at"], whole: true,
            text: "#{what}#{error(failing)}",
            doing: "skep retries as long as that lasts, and nothing becomes a dead letter for it",
            advice: advice(failing, code) }
        end

        # It began soon after a reload.
        def new_code(failing)
          reload = @status["reload_seconds_ago"] or return
          after = reload - (@now - failing["since"])
          ", since #{after.round} s after a reload" if after.between?(0, DEPLOYED)
        end

        def advice(failing, code)
          return "If the new code is wrong, put the old back, then skep reload; else bring back " \
                 "what the error names" if code
          return "Fix the handler, then skep reload" if failing["error"]&.match?(OWN)

          "Bring back what the error names"
        end

        def stalled(row)
          lag = row["lag"]
          { level: "warning",
            text: "it has #{lag ? "#{lag} messages" : "messages"}, and none comes",
            doing: "skep replaces the node after stall_timeout",
            advice: "If it recurs, look at the partition's leader and its log" }
        end

        def paused(row)
          { level: "info",
            text: "its handler has paused it (batch.pause) for " \
                  "#{(row["paused_until"] - @now).ceil} s more",
            doing: "skep goes on with it then",
            advice: "Nothing, unless the handler pauses it again and again" }
        end

        def failing(kind, failing)
          offset, tried = failing.values_at("offset", "attempt")
          text, doing, advice =
            case kind
            when "partition_held"
              ["offset #{offset} is held, and what has to wait for it",
               "skep doesn't try it again: on_error or on_poison says :pause",
               "Fix the cause, then skep reload; a dead_letter_topic would set the message aside"]
            when "dead_letter_not_written"
              ["offset #{offset} has failed for good, and can't become a dead letter",
               "#{next_try(failing)}; its partition or key waits",
               "See whether the topic #{failing["dead_letter_topic"]} exists and may be written"]
            when "partition_blocked"
              ["offset #{offset} fails, attempt #{tried}, and max_out_of_order messages beyond " \
               "it are read: nothing more is",
               next_try(failing), "Fix what keeps it from being done, or raise max_out_of_order"]
            else
              cause = CAUSES.fetch(failing["cause"])
              ["offset #{offset} fails, attempt #{tried} (#{cause})", what_follows(failing),
               failing["cause"] == "unknown" ? "Wait some seconds for the verdict: a dependency " \
                                               "may be away" : "Fix the handler, then skep reload"]
            end
          { level: self.class.level(failing), text: "#{text}#{error(failing)}", doing:, advice:,
            at: failing["at"] }
        end

        def error(failing) = failing["error"] ? ": #{failing["error"]}" : ""

        def next_try(failing)
          left = failing["retry_at"]&.-(@now)
          return "skep tries it again" if left.nil? || !left.positive?

          "skep tries it again in #{left.ceil} s"
        end

        def what_follows(failing)
          if PROCESS.include?(failing["cause"])
            return "skep replaces the process, and then tries it again"
          end

          topic = failing["dead_letter_topic"]
          then_what = topic ? "if it keeps failing while others succeed, it goes to #{topic}" :
                              "without a dead_letter_topic, until it succeeds"
          "#{next_try(failing)}; #{then_what}"
        end

        # One problem for each group.
        def unreachable(live)
          live.group_by { |node| node["work"]["group"] }.filter_map do |group, nodes|
            without = nodes.select { |node| outage?(node["work"]["outage"]) }
            next if without.empty?

            first = without.min_by { |node| node["work"]["outage"]["since"] }
            since, error = first["work"]["outage"].values_at("since", "error")
            text = ["no broker answers #{without.size} of #{nodes.size} nodes", *error].join(": ")
            Swarm::Diagnosis.problem(
              "broker_unreachable", "critical", subject: "group #{group}", text:,
              since: @now - since,
              work: Swarm::Diagnosis.work_name(@status, first),
              node: (first["id"] if without.one?),
              doing: "skep waits for a broker, and goes on where it was",
              advice: "Look at the brokers, and at the network between them and this host"
            )
          end
        end

        # One problem for each group. While no broker answers, that is the problem.
        def unassigned(live)
          live.group_by { |node| node["work"]["group"] }.filter_map do |group, nodes|
            without = nodes.select { |node| node["work"]["unassigned_since"].is_a?(Numeric) }
            without.reject! { |node| outage?(node["work"]["outage"]) }
            next if without.empty?

            first = without.min_by { |node| node["work"]["unassigned_since"] }
            all = without.size == nodes.size
            Swarm::Diagnosis.problem(
              "no_assignment", all ? "critical" : "warning", subject: "group #{group}",
              text: "a rebalance doesn't end: #{without.size} of #{nodes.size} nodes wait " \
                    "for their partitions",
              since: @now - first["work"]["unassigned_since"],
              work: Swarm::Diagnosis.work_name(@status, first),
              node: (first["id"] if without.one?),
              doing: "skep waits as long as the group does, and at last replaces the nodes",
              advice: "skep kafka lag #{group} lists the members: look for one that hangs, or " \
                      "whose partition.assignment.strategy is another"
            )
          end
        end

        def outage?(facts) = facts.is_a?(Hash) && facts["since"].is_a?(Numeric)

        # Also of nodes whose process has ended, and that have no other for as long: what no other
        # node has taken over.
        def lag_unknown(troubles, live, ended)
          late = ended.select { |node| node["down_for"].to_f >= UNKNOWN }
          taken = late.any? ? live.flat_map { |node| held(node) }.to_h { |one| [one, true] } : {}
          all = troubles.map { |one| [one.node, @now - one.row["lag_unknown_since"], 1] } +
                late.map do |node|
                  [node, node["down_for"], held(node).count { |place| !taken[place] }]
                end
          some_unknown = all.reject { |_, _, count| count.zero? }
          some_unknown.group_by { |node, _| node["work"]["group"] }.map do |group, some|
            node = some.first.first
            Swarm::Diagnosis.problem(
              "lag_unknown", "warning",
              subject: "group #{group}", since: some.map { |_, since, _| since }.max,
              work: Swarm::Diagnosis.work_name(@status, node),
              node: only_id(some.map(&:first)),
              text: "the lag of #{counted(some.sum(&:last))} isn't known",
              doing: "skep asks the brokers again and again, and leaves them out of the lag",
              advice: "skep kafka lag shows it by the committed offsets; see whether brokers answer"
            )
          end
        end

        # One problem for each group, of the largest difference.
        def clocks(live)
          apart = live.select { |node| clock?(node["work"]["clock_ahead"]) }
          apart.group_by { |node| node["work"]["group"] }.map do |group, nodes|
            seconds = nodes.map { |node| node["work"]["clock_ahead"]["seconds"] }.max
            Swarm::Diagnosis.problem(
              "clocks_apart", "warning", subject: "group #{group}", since: nil,
              work: Swarm::Diagnosis.work_name(@status, nodes.first),
              text: "this host's clock is #{seconds} s behind that of a host that writes to it",
              doing: "skep goes by the writer's clock for delayed jobs, so they aren't late",
              advice: "Set the clocks of these hosts by NTP: one that is ahead runs jobs too early"
            )
          end
        end

        def clock?(facts)
          facts.is_a?(Hash) && facts["seconds"].is_a?(Numeric) && facts["seen"].is_a?(Numeric) &&
            @now - facts["seen"] < CLOCKS
        end

        def counted(partitions) = "#{partitions} partition#{"s" if partitions > 1}"

        # Returns the places of the partitions that a node has, or had last.
        def held(node)
          rows = node["work"]["partitions"].select { |row| row.is_a?(Hash) && row["held"] }
          rows.map { |row| [node["work"]["group"], *row.values_at("topic", "partition")] }
        end
      end
    end
  end
end
