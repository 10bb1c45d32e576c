# frozen_string_literal: true

# What can be changed while a swarm runs: its processes, its code, its size. One change at a time,
# as a restart and a reload would undo each other. Both wait for the end of a refork, and a reload
# for that of another reload.
#
#   changes = ChangeCoordinator.new(supervisor, mold_pool)
#   changes.restart { |why| … }      # nil: done; else a sentence that says why not
#   changes.restart(3) { |why| … }   # node 3 only
#   changes.reload { |why| … }
#   changes.refork(node)             # a warm node becomes the mold
#   changes.scale(6)                 # => nil, or that sentence
module Skep
  class Swarm
    module Rollout
      class ChangeCoordinator
        STOPPING = "the swarm is stopping"
        BOOTING = "the swarm is still booting: try again"
        # The change that waits for another's end. done: what to call at its own end.
        Waiting = Struct.new(:name, :change, :done)
        private_constant :STOPPING, :BOOTING, :Waiting

        def initialize(supervisor, mold_pool)
          @supervisor = supervisor
          @mold_pool = mold_pool
        end

        # Replaces the processes of all slots, one after the other, or of the one with this id.
        def restart(id = :all, &done)
          return if after_other("restart", done) { |ended| restart(id, &ended) }

          slots = node_pool.slots.select { |slot| slot.id.eql?(id) } unless id == :all || unready
          change("restart", done, slots && not_replaceable(id, slots.first)) do |over|
            RollingUpdate.new("restart", **parts, slots:, &over)
          end
        end

        # Loads the file again beside the old code, and lets all nodes roll over to it.
        def reload(&done)
          return if after_other("reload", done) { |ended| reload(&ended) }

          change("reload", done) do |over|
            node_pool.crash_attribution.forget
            Reload.new(@supervisor, **parts, &over)
          end
        end

        # Makes a mold of a warm node, unless another change is under way. After a failure no other
        # node of the same mold is tried.
        def refork(node)
          return if unready || @next || @under_way || !node.pidfd.watchable?
          return if node.mold != node_pool.mold || !node.ready?
          return if node.mold == @barren

          failed = ->(why) { @barren = node.mold if why }
          change("refork", failed) { |over| Refork.new(node, **parts, &over) }
        end

        def scale(count)
          why = unready and return why

          before = node_pool.slots.size
          why = Scaling.new(node_pool, @supervisor.config).to(count)
          events.publish(:swarm_scaled, from: before, to: node_pool.slots.size) unless why
          why
        end

        private

        def node_pool = @supervisor.node_pool
        def events = @supervisor.events

        # What a change acts on.
        def parts
          { node_pool:, mold_pool: @mold_pool, loop: @supervisor.loop, events: }
        end

        def unready
          return STOPPING if @supervisor.stopping?

          BOOTING unless @supervisor.nodes_requested?
        end

        def not_replaceable(id, slot)
          ids = node_pool.slots.map(&:id).first(20)
          return "there is no node #{id.inspect[0, 100]}, but #{ids.join(", ")}" unless slot

          return if slot.live? || slot.waiting?

          "node #{id} has no process to be replaced: it is #{slot.status}"
        end

        def under_way_sentence(change) = "a #{change} is under way: wait for its end"

        # Returns true if the change has to wait: the block is called at the end of the other.
        # Both wait for a refork: a user can't know when a node starts one. A reload waits for
        # another, which may have loaded the file before it was changed once more: a reload by a
        # signal would be lost. Only one change waits; a reload that waits does for all that are
        # asked for meanwhile.
        def after_other(name, done, &change)
          return false if unready || !waits_for_other?(name)

          if @next.nil? then @next = Waiting.new(name, change, [done])
          elsif name == "reload" && @next.name == "reload" then @next.done << done
          else refuse(name, under_way_sentence(@next.name), done)
          end
          true
        end

        def waits_for_other?(name)
          @under_way == "refork" || (@under_way == "reload" && name == "reload")
        end

        # Starts the change that the block makes, unless it is refused.
        def change(name, done, refusal = nil)
          why = unready || (@under_way && under_way_sentence(@under_way)) || refusal
          return refuse(name, why, done) if why

          @under_way = name
          events.publish(:"#{name}_started", revision: node_pool.revision)
          began = OS.now
          yield(->(failure, hint = nil) { over(name, failure, hint, began, done) }).start
        end

        def refuse(name, why, done)
          events.publish(:"#{name}_refused", level: :warn, error: why)
          done&.call(why)
        end

        def over(name, failure, hint, began, done)
          @under_way = nil
          leave_to_next
          duration = (OS.now - began).round(3)
          return failed(name, failure, hint, duration, done) if failure

          events.publish(:"#{name}_finished", duration:, revision: node_pool.revision)
          done&.call(nil)
        end

        # Starts the change that has waited for the end of another: not at once, as the event that
        # has ended the other is handled first. At a stop there may be no later turn of the loop.
        def leave_to_next
          return unless @next

          @supervisor.stopping? ? start_next : @supervisor.loop.after(0) { start_next }
        end

        def start_next
          waiting, @next = @next, nil
          waiting&.change&.call(->(why) { waiting.done.compact.each { |done| done.call(why) } })
        end

        # A stop ends every change. What the change says of that is a consequence.
        def failed(name, error, hint, duration, done)
          level = :error
          level, error, hint = :info, STOPPING, nil if @supervisor.stopping?
          events.publish(:"#{name}_failed", level:, error:, hint:, duration:)
          done&.call([error, hint].compact.join("; "))
        end

        # Adds nodes to a running swarm, or removes some.
        #
        #   scaling = Scaling.new(node_pool, config)
        #   scaling.to(6)     # => nil, or a sentence that says why not
        #   scaling.to_h      # => { nodes: 6, works: 2 }; nil if no work can be scaled
        #
        # Every kind of work without a count of its own gets so many nodes. The least busy nodes are
        # removed first; new ones get the lowest free ids.
        class Scaling
          def initialize(node_pool, config)
            @node_pool = node_pool
            @config = config
          end

          def to(count)
            why = refusal(count)
            return why if why

            scaled.each { |task| scale(task, count - slots(task).size) }
            nil
          end

          def to_h
            { nodes: slots(scaled.first).size, works: scaled.size } if scaled.any?
          end

          private

          def scaled
            @config.tasks.each_index.select { |task| @config.tasks[task]["nodes"].nil? }
          end

          def slots(task) = @node_pool.slots.select { |slot| slot.task == task }

          def refusal(count)
            unless count.is_a?(Integer) && count >= 1
              return "give a whole number of nodes, 1 or more"
            end
            return "each work has its own number of nodes, in the swarm's file" if scaled.empty?

            most = @node_pool.room / scaled.size
            return if count <= most

            "the swarm has room for #{most} nodes of each work, not for #{count}: " \
              "start it again with that many"
          end

          def scale(task, more)
            return @node_pool.add(task, more) if more.positive?

            slots(task).sort_by { |slot| [@node_pool.load(slot), -slot.id] }.first(-more)
                       .each { |slot| @node_pool.remove(slot, "scale") }
          end
        end
      end
    end
  end
end
