# frozen_string_literal: true

module Skep
  class Swarm
    module Stats
      # Totals of each kind of work, over all nodes that exist and have existed. Nodes report
      # "totals", numbers by name, and "handler", a Histogram as plain data; also for each topic, in
      # "by_topic". When a node ends, its last report is added to the past.
      #
      #   totals = WorkTotals.new
      #   totals.add_exited(node)
      #   totals.of(0, live)         # => { "messages" => 1234 }: of work 0, with these live nodes
      #   totals.handler(0, live)    # => its Histogram as plain data; nil if none was reported
      #   totals.by_topic(0, live)   # => [{ "topic" => "orders", "totals" => …, … }]
      #
      # The names belong to the work. WorkTotals only adds the numbers. Of too many names it keeps
      # those that it saw first, as long as the swarm runs: if others replaced them, totals would
      # fall, which Prometheus takes for a reset.
      class WorkTotals
        MOST = 64 # names of one kind of work
        MOST_TOPICS = 50 # further ones are added up as OTHER
        OTHER = "other"
        private_constant :MOST

        # The first names, in the order of first sight.
        class Names
          def initialize(most)
            @most = most
            @all = {}
          end

          # Returns true if it is one of them.
          def keep?(name)
            @all[name] = true if @all.size < @most
            @all.key?(name)
          end
        end
        private_constant :Names

        def initialize
          @past = {}
          @handlers = {}
          @topics = {}
          # By work.
          @names = Hash.new { |all, task| all[task] = Names.new(MOST) }
          @topic_names = Hash.new { |all, task| all[task] = Names.new(MOST_TOPICS) }
          @names_by_topic = Hash.new { |all, task| all[task] = Names.new(MOST) }
        end

        def add_exited(node)
          return unless node.task

          task = node.task.to_s
          @past[task] = of(node.task, [node])
          @handlers[task] = handler(node.task, [node])
          @topics[task] = by_topic(node.task, [node])
        end

        def of(task, nodes)
          now = nodes.select { |node| node.task == task }.map { |node| reported(node) }
          add([@past[task.to_s], *now].compact, @names[task])
        end

        def handler(task, nodes)
          now = nodes.select { |node| node.task == task }.map { |node| node.work["handler"] }
          all = [@handlers[task.to_s], *now].compact
          Histogram.merge(all).to_plain if all.any?
        end

        def by_topic(task, nodes)
          now = nodes.select { |node| node.task == task }.map { |node| node.work["by_topic"] }
          reports = [*@topics[task.to_s], *now.compact.flatten]
          names = @topic_names[task]
          topics = reports.group_by { |one| names.keep?(one["topic"]) ? one["topic"] : OTHER }
          topics.map do |topic, some|
            { "topic" => topic,
              "totals" => add(some.map { |one| one["totals"] }, @names_by_topic[task]),
              "handler" => Histogram.merge(some.map { |one| one["handler"] }).to_plain }
          end
        end

        def inspect = "#<#{self.class} #{@past}>"

        private

        # IPC::Messages has checked it when it arrived.
        def reported(node) = node.work["totals"] || {}

        def add(totals, names)
          sums = totals.reduce({}) { |sum, one| sum.merge(one) { |_, before, more| before + more } }
          sums.select { |name, _| names.keep?(name) }
        end
      end
    end
  end
end
