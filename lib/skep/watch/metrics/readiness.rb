# frozen_string_literal: true

# Is a swarm able to do its work? Pure.
#
#   Readiness.complaint(status)               # => nil: it is; else why not, in a sentence
#   Readiness.complaint(status, nodes: 3)     # so many of its nodes must be; "all"
#
# status: as in `skep status --json`. Unless it is said how many, one node of each kind of work.
module Skep
  module Watch
    module Metrics
      module Readiness
        STATES = { "booting" => "it is booting", "quiet" => "it is quiet: nodes take nothing new",
                   "stopping" => "it is stopping", "stopped" => "it has stopped" }.freeze
        private_constant :STATES

        module_function

        #: (Hash[String, untyped], ?nodes: (Integer | String)?) -> String?
        def complaint(status, nodes: nil)
          return STATES.fetch(status["state"]) if STATES.key?(status["state"])

          slots = status["nodes"].reject { |node| node["task"].nil? }
          looping = slots.find { |node| node["crash_loop"] }
          return crash_loop(looping) if looping

          nodes ? few(slots, nodes) : idle_work(status, slots)
        end

        def crash_loop(node)
          deaths = node["deaths"].values.sum
          "node #{node["id"]} is in a crash loop: #{deaths} deaths, the last by #{ending(node)}"
        end

        def ending(node)
          exit = node["last_exit"].to_h
          return "SIG#{exit["signal"]}" if exit["signal"]

          exit["status"] ? "exit status #{exit["status"]}" : "something unknown"
        end

        def few(slots, wanted)
          wanted = slots.size if wanted == "all"
          ready = slots.count { |node| ready?(node) }
          "#{ready} of #{slots.size} nodes are ready, #{wanted} must be" if ready < wanted
        end

        def idle_work(status, slots)
          idle = slots.group_by { |node| node["task"] }
                      .find { |_, nodes| nodes.none? { |node| ready?(node) } } or return
          work = status["works"][idle.first].to_h.values_at("kind", "group").compact.join(" ")
          "none of the #{idle.last.size} nodes of #{work} is ready"
        end

        def ready?(node) = node["state"] == "ready" && node["unhealthy"].nil?

        private_class_method :crash_loop, :ending, :few, :idle_work, :ready?
      end
    end
  end
end
