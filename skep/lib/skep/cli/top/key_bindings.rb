# frozen_string_literal: true

# What each key does to the Model and to the swarm. What can't be undone asks first.
#
#   bindings = KeyBindings.new(model, poller)
#   bindings.press("r")
#   bindings.quit?            # returns true after q
#   bindings.observe(events)  # backtraces arrive as events
module Skep
  module CLI
    module Top
      class KeyBindings
        STEPS = { up: -1, "k" => -1, down: 1, "j" => 1, page_up: -10, page_down: 10,
                  home: -1_000_000, "g" => -1_000_000, end: 1_000_000, "G" => 1_000_000 }.freeze
        KEYS = { "r" => :restart_node, "R" => :restart_all, "+" => :add_node, "-" => :remove_node,
                 "s" => :stop, "Q" => :quiet, "b" => :backtraces, "?" => :help, "q" => :quit,
                 "\r" => :facts, "\n" => :facts }.freeze
        SCALING = 2.0 # seconds until the status shows a new number of nodes
        STAYS_QUIET = "; the swarm stays quiet (Q ends that)"
        private_constant :STEPS, :KEYS, :SCALING, :STAYS_QUIET

        def initialize(model, poller)
          @model = model
          @poller = poller
          @traces = nil
          @quit = false
        end

        def quit? = @quit

        def press(key)
          @model.message = nil
          return confirm(key) if @model.prompt
          return page(key) if @model.pager
          return @model.select(STEPS[key]) if STEPS.key?(key)

          send(KEYS[key]) if KEYS.key?(key)
        end

        # The backtraces that b has asked for arrive one after the other.
        def observe(events)
          found = events.select { |event| event["event"] == "node_backtraces" }
          return unless @traces && found.any?

          found.each { |event| @traces.add(event, first: event["node"] == @model.selected) }
          @model.pager = @traces
        end

        private

        def page(key)
          return @model.pager.scroll(STEPS[key]) if STEPS.key?(key)

          @model.pager = @traces = nil
        end

        def confirm(key)
          action, @action = @action, nil
          @model.prompt = nil
          key == "y" ? action.call : @model.message = "nothing was done"
        end

        def ask(prompt, &action)
          @model.prompt = prompt
          @action = action
        end

        def command(name, title, **facts)
          @model.message = "#{title}: sent"
          @poller.send_command(name, **facts) do |answer|
            quiet = STAYS_QUIET if answer["quiet"]
            @model.message = "#{title}: #{answer["error"] || "done"}#{quiet}"
          end
        end

        def restart_node
          id = @model.node&.fetch("id")
          return @model.message = "spares restart together with all nodes" unless id.is_a?(Integer)

          ask("restart node #{id}?") { command("restart", "restart of node #{id}", node: id) }
        end

        def restart_all
          ask("restart all nodes, one after the other?") { command("restart", "restart") }
        end

        # + and - are for the selected node's work, where there are several.
        def add_node
          scale(@model.work, slots(@model.work) + 1) if scalable?
        end

        def remove_node
          return unless scalable?

          work = @model.work
          nodes = slots(work) - 1
          ask("#{scale_title(work, nodes)}?") { scale(work, nodes) }
        end

        def scalable?
          return true if !@model.works? || @model.work

          @model.message = "select a node of the work that is to be scaled"
          false
        end

        # The last number that was asked for, until the status shows it.
        def slots(work)
          wanted, of, at = @wanted
          of == work && wanted && OS.now - at < SCALING ? wanted : @model.scale(work)
        end

        def scale(work, nodes)
          @wanted = [nodes, work, OS.now]
          command("scale", scale_title(work, nodes), **{ nodes:, work: }.compact)
        end

        def scale_title(work, nodes)
          "scale#{" #{UI.clean(work)}" if work} to #{nodes} nodes"
        end

        def stop
          ask("stop swarm #{UI.clean(@model.status["name"])}?") { command("stop", "stop") }
        end

        # Begins quiet, or ends it.
        def quiet
          return ask("take new work again (resume)?") { command("resume", "resume") } if quiet?

          ask("take no new work (quiet)?") { command("quiet", "quiet") }
        end

        def quiet? = @model.status["state"] == "quiet"
        def help = @model.pager = Pager.help
        def facts = @model.node && @model.pager = Pager.facts(@model.node)
        def quit = @quit = true

        def backtraces
          @traces = Pager.backtraces
          command("backtraces", "backtraces")
        end
      end
    end
  end
end
