# frozen_string_literal: true

# What can be changed while a swarm runs: its processes, its code, its size. One change at a time,
# as a restart and a reload would undo each other. Both wait for the end of a refork, and a reload
# for that of another reload.
#
#   changes = ChangeCoordinator.new(supervisor, mold_pool)
#   changes.restart { |why| … }      # nil: done; else a sentence that says why not
#   changes.restart(3) { |why| … }   # node 3 only
#   changes.restart(work: "web") { |why| … }   # the nodes of this work only
#   changes.reload { |why| … }
#   changes.refork(node)             # a warm node becomes the mold
#   changes.scale(6)                 # => nil, or that sentence
#   changes.scale(works: { "web" => 2 })
#   changes.to_plain                 # => what is under way, and what has failed
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

        # Replaces the processes of all slots, one after the other, or of the one with this id, or
        # of those of this work.
        def restart(id = :all, work: nil, &done)
          return if after_other("restart", done) { |ended| restart(id, work:, &ended) }

          slots = slots_of(id, work) unless unready
          change("restart", done, slots && not_replaceable(id, work, slots), work:) do |over|
            RollingUpdate.new("restart", **parts, slots:, &over)
          end
        end

        # Loads the file again beside the old code, and lets all nodes roll over to it.
        def reload(&done)
          return if after_other("reload", done) { |ended| reload(&ended) }

          change("reload", done) do |over|
            node_pool.crash_attribution.forget
            @reloaded_at = @began
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

        # count: of each work without a number of its own. works: numbers of nodes by name.
        def scale(count = nil, works: nil)
          why = unready and return why

          before = node_pool.slots.size
          scaling = Scaling.new(node_pool, @supervisor.config)
          why = works.nil? ? scaling.to(count) : scaling.by_name(works)
          events.publish(:swarm_scaled, from: before, to: node_pool.slots.size, works:) unless why
          why
        end

        # Returns the change that is under way, what the last restart or reload failed with, if none
        # has succeeded since, and the seconds since the last reload began; nil: there is none.
        def to_plain(now = OS.now)
          change = @under_way && { name: @under_way, state: @rollout&.state,
                                   seconds: (now - @began).round(3), next: @next&.name }
          failed = @failed && { **@failed.except(:time),
                                seconds_ago: (now - @failed[:time]).round(3) }
          { change:, failed_change: failed,
            reload_seconds_ago: @reloaded_at && (now - @reloaded_at).round(3) }
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

        # Returns nil for all.
        def slots_of(id, work)
          return if id == :all && work.nil?

          node_pool.slots.select { |slot| id == :all ? slot.work_name == work : slot.id.eql?(id) }
        end

        def not_replaceable(id, work, slots)
          return "give a node or a work, not both" unless id == :all || work.nil?
          return absent(id, work) if slots.empty?
          return if slots.any? { |slot| slot.live? || slot.waiting? }
          return "no node of work #{work} has a process to be replaced" if work

          "node #{id} has no process to be replaced: it is #{slots.first.status}"
        end

        def absent(id, work)
          what, given, known = ["node", id, node_pool.slots.map(&:id)]
          what, given, known = ["work", work, node_pool.slots.map(&:work_name).uniq] if work
          "there is no #{what} #{given.inspect[0, 100]}, but #{known.first(20).join(", ")}"
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
        def change(name, done, refusal = nil, **facts)
          why = unready || (@under_way && under_way_sentence(@under_way)) || refusal
          return refuse(name, why, done) if why

          @under_way = name
          events.publish(:"#{name}_started", revision: node_pool.revision, **facts)
          began = @began = OS.now
          @rollout = yield(->(failure, hint = nil) { over(name, failure, hint, began, done) })
          @rollout.start
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

          @failed = nil unless name == "refork"
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
          # A refork changes nothing that an operator has asked for.
          @failed = { name:, error:, hint:, time: OS.now } unless name == "refork"
          events.publish(:"#{name}_failed", level:, error:, hint:, duration:)
          done&.call([error, hint].compact.join("; "))
        end

        # Adds nodes to a running swarm, or removes some.
        #
        #   scaling = Scaling.new(node_pool, config)
        #   scaling.to(6)     # => nil, or a sentence that says why not
        #   scaling.by_name({ "orders" => 6, "web" => 2 })   # the same
        #   scaling.to_h      # => { nodes: 6, works: 2 }; nil if `to` scales no work
        #
        # `to` gives so many nodes to every work without a number of its own, or to the only work;
        # `by_name` to any. The
        # least busy nodes are removed first; new ones get the lowest free ids.
        class Scaling
          def initialize(node_pool, config)
            @node_pool = node_pool
            @config = config
          end

          def to(count)
            if scaled.empty?
              return "each work has its own number of nodes: name it, such as " \
                     "`skep scale #{works.first.name}=#{count}`"
            end
            change(scaled.to_h { |work| [work, count] })
          end

          def by_name(counts)
            return "give the numbers of nodes by works" unless counts.is_a?(Hash) && counts.any?

            known = works.to_h { |work| [work.name, work] }
            unknown = counts.keys.find { |name| !known.key?(name) }
            return change(counts.transform_keys(known)) unless unknown

            "there is no work #{unknown.inspect[0, 100]}, but #{known.keys.join(", ")}"
          end

          def to_h
            { nodes: slots(scaled.first).size, works: scaled.size } if scaled.any?
          end

          private

          def works = @config.works
          def scaled = works.one? ? works : works.reject { |work| work.own?(:nodes) }
          def slots(work) = @node_pool.slots.select { |slot| slot.task == work.number }

          def change(counts)
            why = refusal(counts) and return why
            counts.each { |work, count| scale(work, count - slots(work).size) }
            nil
          end

          def refusal(counts)
            unless counts.each_value.all? { |count| count.is_a?(Integer) && count >= 1 }
              return "give a whole number of nodes, 1 or more"
            end

            wanted = works.sum { |work| counts.fetch(work) { slots(work).size } }
            return if wanted <= @node_pool.room

            "the swarm has room for #{@node_pool.room} nodes, not for #{wanted}: " \
              "start it again with that many"
          end

          def scale(work, more)
            return @node_pool.add(work.number, more) if more.positive?

            slots(work).sort_by { |slot| [@node_pool.load(slot), -slot.id] }.first(-more)
                       .each { |slot| @node_pool.remove(slot, "scale") }
          end
        end
      end
    end
  end
end
