# frozen_string_literal: true

module Skep
  class Web
    module Live
      # What the page shows of a swarm, from its status: nodes and partitions by name, long values
      # shortened, sums, and the numbers of its charts. `clock` tells the page the age of what has
      # monotonic seconds.
      #
      #   presenter = SwarmPresenter.new(status, sample)    # of a Control::ProcessSampler
      #   presenter.to_h       # without nil, for JsonMergePatch
      #   presenter.numbers    # => {"own" => 12_345_678, "lag" => 3, "node/0" => …}
      class SwarmPresenter
        NODE = %w[pid work_name mold state assigned restarts deaths crash_loop last_exit beat_age
                  unhealthy].freeze
        SWARM = %w[name pid state skep ruby revision crash_loop uptime scale].freeze
        MEMORY = %w[rss pss uss shared swap].freeze
        SHOWN = %w[done messages rate lag partitions handler totals].freeze # in other places
        PROBLEM = %w[kind level subject text since node work at doing advice].freeze
        FACTS = 20
        ENTRIES = 60 # of a node's facts
        TEXT = 200
        LIMIT = 10**15
        private_constant :LIMIT, :NODE, :SWARM, :PROBLEM, :MEMORY, :SHOWN, :FACTS, :ENTRIES, :TEXT

        def initialize(status, sample)
          @status = status
          @sample = sample
          @nodes = status["nodes"].to_h { |node| [node["id"].to_s, node] }
          @rates = @nodes.transform_values { |node| rate(node) }
          @troubles = Swarm::Diagnosis.by_node(status)
          pages = Skep::Plugin.of(status).map { |plugin| plugin.page(status) }
          @lag, @lag_unknown = Skep::Plugin.sum(pages.filter_map { |page| page["lag"] })
          @partitions, @totals = %w[partitions totals].map { |part| merged(pages, part) }
        end

        def to_h
          @to_h ||= JsonMergePatch.without_nil(
            **@status.slice(*SWARM), "sums" => sums, "works" => works, "partitions" => @partitions,
            "nodes" => @nodes.to_h { |id, node| [id, node(id, node)] },
            "problems" => problems, "problem_count" => @status["problems"].to_a.size,
            "suspects" => @status["suspects"].to_a.first(FACTS), "totals" => @totals,
            "clock" => { "mono" => OS.now.round(1), "time" => Time.now.to_f.round(1) }
          )
        end

        def numbers
          { **sums.slice("own", "shared", "rate", "lag"),
            **@nodes.to_h { |id, node| ["node/#{id}", number(node.dig("memory", "uss"))] },
            **@partitions.to_h { |key, one| ["lag/#{key}", one["lag"]] },
            **@partitions.to_h { |key, one| ["rate/#{key}", one["rate"]] } }
        end

        private

        def problems
          @status["problems"].to_a.first(FACTS).map do |one|
            bounded.of(one.slice(*PROBLEM).compact)
          end
        end

        # shared: memory that all have in common exists once; each node's PSS contains its part.
        def sums
          @sums ||= { "own" => total("uss"), "shared" => [total("pss") - total("uss"), 0].max,
                      "rate" => @rates.values.compact.sum.round(1), "lag" => @lag,
                      "lag_unknown" => @lag_unknown && "unknown #{@lag_unknown}",
                      "ready" => workers.count { |node| node["state"] == "ready" },
                      "nodes" => workers.size, "spares" => @nodes.size - workers.size }
        end

        # The number of nodes by the name of the work, if the swarm has several.
        def works
          works = @status["works"].to_a.select { |work| work["name"] }
          works.to_h { |work| [work["name"], number(work["nodes"])] } if works.size > 1
        end

        def merged(pages, part) = pages.filter_map { |page| page[part] }.reduce({}, :merge)
        def workers = @nodes.values.select { |node| node["id"].is_a?(Integer) }
        def total(kind) = @nodes.values.sum { |node| number(node.dig("memory", kind)) || 0 }

        def rate(node)
          number(@sample.rates[node["id"]])&.round(1) if node["id"].is_a?(Integer)
        end

        def node(id, node)
          memory = node["memory"]
          { **node.slice(*NODE), "cpu" => @sample.cpu[node["id"]]&.round(3), "rate" => @rates[id],
            "done" => number(node["work"]["done"]),
            "memory" => memory && memory.slice(*MEMORY), "hang" => hang(node["last_hang"]),
            "problem" => @troubles[node["id"]]&.slice("kind", "level"),
            "failure" => node["failure"]&.then { |failure| bounded.of(failure) },
            "facts" => facts(node["work"]) }
        end

        # line: where the thread that hung was.
        def hang(facts)
          return unless facts

          first = Array(facts["threads"]).first
          line = Array(first["backtrace"]).first if first.is_a?(Hash)
          { **facts.slice("pid", "seconds_ago", "reason"), "line" => line && short(line) }
        end

        # What the node's work reports.
        def facts(work) = bounded.of(work.except(*SHOWN).first(FACTS).to_h)

        def bounded = BoundedFacts.new(entries: ENTRIES, text: TEXT)
        def short(value) = bounded.of(value.to_s)

        # Returns the value if it can be a count or a rate.
        def number(value) = value.is_a?(Numeric) && value.abs < LIMIT ? value : nil
      end
    end
  end
end
