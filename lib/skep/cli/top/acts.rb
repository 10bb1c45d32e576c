# frozen_string_literal: true

# What keys do to a View, and ask of a swarm. What can't be undone is asked for first.
#
#   acts = Acts.new(view, wire)
#   acts.press("r")
#   acts.left?          # it was q
#   acts.hear(events)   # backtraces that were asked for come as events
module Skep
  module CLI
    class Top < Command
      class Acts
        STEPS = { up: -1, "k" => -1, down: 1, "j" => 1, page_up: -10, page_down: 10,
                  home: -1_000_000, "g" => -1_000_000, end: 1_000_000, "G" => 1_000_000 }.freeze
        KEYS = { "r" => :renew, "R" => :renew_all, "+" => :more, "-" => :fewer, "s" => :stop,
                 "Q" => :quiet, "b" => :backtraces, "?" => :help, "q" => :leave,
                 "\r" => :facts, "\n" => :facts }.freeze
        SCALING = 2.0 # seconds
        private_constant :STEPS, :KEYS, :SCALING

        def initialize(view, wire) #: (View, Wire) -> void
          @view = view
          @wire = wire
          @traces = nil
        end

        def left? = @left ? true : false #: () -> bool

        def press(key) #: (Symbol | String) -> void
          @view.message = nil
          return confirm(key) if @view.prompt
          return leaf(key) if @view.panel
          return @view.select(STEPS[key]) if STEPS.key?(key)

          send(KEYS[key]) if KEYS.key?(key)
        end

        # Those that b has asked for come one after the other.
        def hear(events) #: (Array[Hash[String, untyped]]) -> void
          found = events.select { |event| event["event"] == "node_backtraces" }
          return unless @traces && found.any?

          @traces.concat(found)
          @view.panel = Panel.backtraces(@traces, @view.selected)
        end

        private

        def leaf(key)
          return @view.panel.scroll(STEPS[key]) if STEPS.key?(key)

          @view.panel = @traces = nil
        end

        def confirm(key)
          act, @act = @act, nil
          @view.prompt = nil
          key == "y" ? act.call : @view.message = "nothing was done"
        end

        def ask(prompt, &act)
          @view.prompt = prompt
          @act = act
        end

        def tell(command, words, **facts)
          @view.message = "#{words}: asked"
          @wire.tell(command, **facts) do |answer|
            @view.message = "#{words}: #{answer["error"] || "done"}"
          end
        end

        def renew
          id = @view.node&.fetch("id")
          return @view.message = "spares are renewed with all the others" unless id.is_a?(Integer)

          ask("renew node #{id}?") { tell("restart", "node #{id} renewed", node: id) }
        end

        def renew_all
          ask("renew all nodes, one after the other?") { tell("restart", "all nodes renewed") }
        end

        def more = scale(slots + 1)

        def fewer
          nodes = slots - 1
          ask("go on with #{nodes} nodes?") { scale(nodes) }
        end

        # As many as were last asked for, until that is seen.
        def slots
          wanted, at = @wanted
          wanted && OS.now - at < SCALING ? wanted : @view.slots.size
        end

        def scale(nodes)
          @wanted = [nodes, OS.now]
          tell("scale", "scale to #{nodes} nodes", nodes:)
        end

        def stop = ask("stop swarm #{Text.clean(@view.status["name"])}?") { tell("stop", "stop") }
        def quiet = ask("take no more work (quiet)?") { tell("quiet", "quiet") }
        def help = @view.panel = Panel.help
        def facts = @view.node && @view.panel = Panel.facts(@view.node)
        def leave = @left = true

        def backtraces
          @traces = []
          tell("backtraces", "backtraces")
        end
      end
      private_constant :Acts
    end
  end
end
