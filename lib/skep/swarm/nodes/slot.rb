# frozen_string_literal: true

# A place in the swarm: its number, its kind of work, who holds it, and what became of those before.
#
#   slot = Slot.new(3, 0)
#   slot.take(node)               # a process is being forked for it; a second one is its successor
#   slot.leave(node, exit, now, within: 60.0)    # => :held, :free; :unchanged: the successor went
#   slot.state                    # => :ready; :waiting and :dead where nobody holds it
#
# It remembers; it owns no process.
module Skep
  class Swarm
    module Nodes
      class Slot
        include Runtime::Persisted

        KEPT = %i[begun last_reason last_work last_work_bytes refusal failure looping
                  last_hang].freeze
        attr_reader :id #: Integer
        attr_reader :task #: Integer?
        attr_reader :node #: NodeProcess?, the process that holds it
        attr_reader :successor #: NodeProcess?, the one that is to take over
        attr_reader :deaths #: RestartHistory
        attr_reader :last_exit #: IPC::ExitStatus?
        attr_reader :last_reason #: String?
        attr_accessor :refusal #: String?, why its last process said that it can't begin
        attr_accessor :refusal_code #: Integer?, the exit code of a first boot that it ends
        attr_accessor :failure #: String?, what its last process failed with
        attr_writer :looping #: bool
        attr_accessor :last_hang #: Hash?, what was found out about its last hung node
        attr_accessor :wait_timer #: OS::EventLoop::Timer?

        def initialize(id, task) #: (Integer?, Integer?) -> void
          @id = id
          @task = task
          @state = :dead
          @deaths = RestartHistory.new
          @causes = ExitCauses.new
          @begun = 0
        end

        def label = id #: () -> (Integer | String)
        def helper? = false #: () -> bool
        def spare? = false #: () -> bool
        def birth = { "node" => id, "task" => task } #: () -> Hash, what its process must know
        def pid = node&.pid #: () -> Integer?
        def mold = node&.mold #: () -> Molds::Mold?
        def nodes = [node, successor].compact #: () -> Array[NodeProcess]
        def live? = !node.nil? #: () -> bool
        def event_facts = { node: label, mold: mold&.number, pid: } #: () -> Hash

        # There will be no such slot: who holds it leaves for good.
        def give_up #: () -> void
          @given_up = true
        end

        def given_up? = @given_up ? true : false #: () -> bool
        def waiting? = state == :waiting #: () -> bool
        def state = node ? node.state : @state #: () -> Symbol
        def restarts = [@begun - 1, 0].max #: () -> Integer
        def clean? = last_exit&.clean? && !last_reason #: () -> bool, it ended well and by itself

        def wait #: () -> void
          @state = :waiting
        end

        def done #: () -> void
          @state = :dead
        end

        def take(node) #: (NodeProcess) -> void
          return @successor = node if @node

          @node = node
          begin_anew
        end

        def dump(state_file) #: (Upgrade::StateFile) -> Hash[String, untyped]
          { **super(), "id" => id, "task" => task, "state" => @state,
                       "deaths" => deaths.dump, "causes" => @causes.dump,
                       "last_exit" => last_exit&.to_plain, "last_mold" => @last_mold&.number,
                       "waits_until" => (wait_timer.deadline if wait_timer&.pending?),
                       "node" => node&.dump(state_file) }
        end

        # node: who holds it; last_mold: whom the one before came of.
        #: (Hash[String, untyped], NodeProcess?, Molds::Mold?) -> self
        def restore(plain, node, last_mold)
          @node = node
          @last_mold = last_mold
          @state = plain["state"].to_sym
          @last_exit = plain["last_exit"] && IPC::ExitStatus.from(plain["last_exit"])
          @deaths.restore(plain["deaths"])
          @causes.restore(plain["causes"]) if plain["causes"]
          super(plain)
          @last_hang = last_hang&.transform_keys(&:to_sym)
          self
        end

        # Its node has died, which isn't recorded yet, and the next one is on its way.
        def follow #: () -> void
          @followed = true
        end

        def followed? = @followed ? true : false #: () -> bool

        # Runs the block once the end of the process that holds it is written down.
        #: () { () -> void } -> void
        def when_settled(&block) = (@pending ||= []) << block

        def settled #: () -> void
          pending, @pending = @pending, nil
          pending&.each(&:call)
        end

        # A process of its has ended; no exit: it lives on as something else.
        #: (NodeProcess, IPC::ExitStatus?, Float, within: Float) -> (:held | :free | :unchanged)
        def leave(node, exit, now, within:)
          return (@successor = nil) || :unchanged if node == @successor

          @causes.ended(node, exit)
          @followed = false
          remember(node, exit) if exit
          died(node.kind_of_death, now, within) unless node.retired?
          @node, @successor = @successor, nil
          begin_anew if @node
          @state = :dead
          @node ? :held : :free
        end

        # "boot" or "work". One that couldn't even be forked counts, as the next try waits for it.
        def died(kind, now, within) = @deaths.add(kind, now, within:)

        # In a crash loop: its next process has to wait.
        def looping? = @looping ? true : false #: () -> bool

        # What its work's facts take as JSON.
        def work_bytes = node ? node.work_bytes : @last_work_bytes.to_i #: () -> Integer

        # One node of `skep status --json`.
        def to_plain(memory:, beat_age:, done:, unhealthy:) #: (**untyped) -> Hash[Symbol, untyped]
          { id:, pid:, task:, mold: (mold || @last_mold)&.number, state:,
            joined: node&.joined? || false, restarts:, restarts_by: @causes.counts,
            deaths: deaths.counts,
            crash_loop: looping?, last_exit: exit_facts,
            memory:, beat_age:, unhealthy:, last_hang: hang_facts,
            work: { "done" => done, **(node&.work || @last_work || {}) } } # it may tell its own
        end

        def inspect = "#<#{self.class} #{label} #{state}>" #: () -> String

        private

        def begin_anew
          @begun += 1
          @causes.begun
        end

        def remember(node, exit)
          @last_exit = exit
          @last_reason = node.reason
          @last_mold = node.mold
          @last_work = node.work
          @last_work_bytes = node.work_bytes
        end

        def hang_facts
          last_hang && { seconds_ago: (OS.now - last_hang[:at]).round(3), **last_hang.except(:at) }
        end

        def exit_facts
          last_exit && { status: last_exit.exitstatus, signal: last_exit.signal,
                         reason: last_reason }
        end
      end

      # The slot of the helper: a node that does no work but runs the users' event blocks, passes
      # events on and serves metrics (its own view is InNode::HelperMain).
      #
      #   helper = HelperSlot.new(%w[node_died])
      #   helper.tell("node_died", facts)      # kept until there is a process to tell
      #   helper.hear(%w[node_ready])          # these are for it, too, from here on
      #   helper.subscribe_all                 # all events are
      #   helper.serve(socket)                 # lent to its process, and to each that follows
      #
      # It is booted, replaced and stopped as others are, goes last, and counts as none.
      class HelperSlot < Nodes::Slot
        BACKLOG = 1_000
        private_constant :BACKLOG

        def initialize(events) #: (Array[String]) -> void
          super(nil, nil)
          @events = events
          @backlog = []
        end

        def label = "helper" #: () -> String
        def helper? = true #: () -> bool

        def take(node)
          super
          lend(node)
          @backlog.shift(BACKLOG).each { |name, facts| tell(name, facts) }
        end

        def dump(state_file) #: (Upgrade::StateFile) -> Hash[String, untyped]
          { **super, "backlog" => @backlog, "all_events" => @all_events, "events" => @events }
        end

        #: (Hash[String, untyped], NodeProcess?, Molds::Mold?) -> self
        def restore(plain, node, last_mold)
          @backlog, @all_events = plain.values_at("backlog", "all_events")
          hear(plain["events"].to_a)
          super
        end

        # New code subscribes to these; what the old code did is told as well until that has gone.
        def hear(events) #: (Array[String]) -> void
          @events |= events
        end

        def subscribe_all = @all_events = true #: () -> void

        # anew: those that there are don't have it yet.
        def serve(socket, anew: true) #: (BasicSocket, ?anew: bool) -> void
          @socket = socket
          nodes.each { |node| lend(node) } if anew
        end

        def tell(name, facts) #: (String, Hash) -> void
          return unless @all_events || @events.include?(name)
          return @backlog.size < BACKLOG && @backlog << [name, facts] unless live?

          node.channel.post("event", { "name" => name, "facts" => facts }, may_drop: true)
        end

        # The last to go: it has heard of every node's end.
        #: () -> void
        def stop_last
          nodes.each { |node| node.stop unless node.state == :stopping }
        end

        private

        def lend(node) = @socket && node.channel.post("serve", {}, lend: [@socket])
      end
    end
  end
end
