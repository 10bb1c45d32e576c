# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # What the page shows of a swarm, made of its status: nodes and partitions by name, long
      # things short, sums of it all; and the numbers of it that are drawn over time.
      #
      #   view = View.new(status, pace, now)
      #   view.to_h       # without nulls, as Patch wants it
      #   view.numbers    # => {"own" => 12_345_678, "lag" => 3, "node/0" => …}
      class View
        NODE = %w[pid mold state joined restarts deaths crash_loop last_exit beat_age
                  unhealthy].freeze
        SWARM = %w[name pid state skep ruby crash_loop uptime].freeze
        MEMORY = %w[rss pss uss shared swap].freeze
        SHOWN = %w[done messages rate lag partitions handler totals].freeze # elsewhere
        FACTS = 20
        TEXT = 200
        private_constant :NODE, :SWARM, :MEMORY, :SHOWN, :FACTS, :TEXT

        #: (Hash[String, untyped], Pace, Float, ?cpu: Hash[String, Float]) -> void
        def initialize(status, pace, now, cpu: {})
          @status = status
          @cpu = cpu
          @nodes = status["nodes"].to_h { |node| [node["id"].to_s, node] }
          @rates = @nodes.to_h { |id, node| [id, rate(id, node, pace, now)] }
          pace.keep(@nodes.keys)
          @partitions = Partitions.of(@nodes.values)
        end

        def to_h #: () -> Hash[String, untyped]
          @to_h ||= Patch.whole(
            **@status.slice(*SWARM), "sums" => sums, "partitions" => @partitions,
            "nodes" => @nodes.to_h { |id, node| [id, node(id, node)] },
            "suspects" => @status["suspects"].to_a.first(FACTS), "totals" => totals
          )
        end

        def numbers #: () -> Hash[String, Numeric?]
          { **sums.slice("own", "shared", "rate", "lag"),
            **@nodes.to_h { |id, node| ["node/#{id}", number(node.dig("memory", "uss"))] },
            **@partitions.to_h { |key, one| ["lag/#{key}", one["lag"]] },
            **@partitions.to_h { |key, one| ["rate/#{key}", one["rate"]] } }
        end

        private

        # shared: what all have in common is there once, and each node's pss has its part of it.
        def sums
          @sums ||= { "own" => total("uss"), "shared" => [total("pss") - total("uss"), 0].max,
                      "rate" => @rates.values.compact.sum.round(1), "lag" => lag,
                      "ready" => workers.count { |node| node["state"] == "ready" },
                      "nodes" => workers.size, "spares" => @nodes.size - workers.size }
        end

        def workers = @nodes.values.select { |node| node["id"].is_a?(Integer) }
        def total(kind) = @nodes.values.sum { |node| number(node.dig("memory", kind)) || 0 }

        def lag
          lags = @partitions.values.map { |one| one["lag"] }.compact
          lags.sum if lags.any?
        end

        def rate(id, node, pace, now)
          work = node["work"]
          return unless node["id"].is_a?(Integer)
          return number(work["rate"]) if work["kind"] == "kafka"

          done = number(work["done"])
          done && pace.of(id, done, now)
        end

        def node(id, node)
          memory = node["memory"]
          { **node.slice(*NODE), "cpu" => @cpu[id], "rate" => @rates[id],
            "done" => number(node["work"]["done"]),
            "memory" => memory && memory.slice(*MEMORY), "decay" => memory && memory["decay"],
            "hang" => node["last_hang"]&.slice("pid", "seconds_ago", "why"),
            "facts" => facts(node["work"]) }
        end

        # What the work tells of itself, as text.
        def facts(work)
          told = work.except(*SHOWN).first(FACTS)
          told.to_h { |key, value| [short(key), short(value)] }
        end

        # Since the swarm began, whichever nodes did it.
        def totals
          works = @status["works"].to_a.select { |work| work["kind"] == "kafka" }
          works.to_h { |work| [work["group"].to_s, work["totals"]] }
        end

        def short(value)
          text = value.is_a?(String) ? value : JSON.generate(value, allow_nan: true)
          text.size > TEXT ? "#{text[0, TEXT]}…" : text
        end

        def number(value) = Partitions.number(value)
      end
      private_constant :View
    end
  end
end
