# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Who the nodes of a map are, what to hear of them, and their end.
      #
      #   roster = Roster.new(limit, threads)
      #   roster.recruit { |slot, claims, socket| … }       # forks; the block is the child's
      #   roster.wait(1.0) { |node, ended| … }
      #   roster.bury(node)                                 # => its end
      #   roster.disband(calm: true)
      class Roster
        GRACE = 1.0    # seconds from TERM to KILL
        PATIENCE = 5.0 # seconds for a node with nothing to do to end, before it is killed
        DYING = 0.1    # seconds from the end of its socket to its own, when it dies
        private_constant :GRACE, :PATIENCE, :DYING

        attr_reader :nodes #: Array[Node]

        #: (Integer limit, Integer threads) -> void
        def initialize(limit, threads)
          @limit = limit
          @nodes = []
          @poller = OS::EventLoop::Poller.new
          @claims = Claims.new(limit, threads)
          @in_forks = Skep.on_fork(child: method(:disown))
        end

        #: () -> bool
        def full? = @nodes.size >= @limit

        # Forks a node. Where the machine has no room for it, those there are must do: Ruby would
        # wait for a process, for ever.
        #
        #: () { (Integer slot, Claims, UNIXSocket) -> bot } -> void
        def recruit(&life)
          OS::ProcessTree::ForkProbe.check
          slot = ((0...@limit).to_a - @nodes.map(&:slot)).first
          @nodes << (node = Node.new(slot, @claims))
          begin_life(node, &life)
          watch(node)
        rescue Errno::EAGAIN, Errno::ENOMEM, Errno::EMFILE, Errno::ENFILE
          @nodes.delete(node)&.close
          raise if @nodes.empty?

          @limit = @nodes.size
        end

        # Waits for reports and ends, at most so many seconds; false when there were none.
        #
        #: (Numeric? seconds) { (Node, bool ended) -> void } -> bool
        def wait(seconds)
          events = @poller.wait(seconds)
          events.each do |(node, ended), _, writable|
            next unless @nodes.include?(node)

            attend(node.tap(&:flush)) if writable
            yield node, ended
          end
          events.any?
        end

        # Has it been given more than its socket takes? Then it is watched for that.
        #
        #: (Node) -> void
        def attend(node)
          @poller.modify(node.socket, [node, false], read: true, write: node.pending?)
        end

        # It can't be talked to any more: its end is near, or is made so.
        #
        #: (Node) -> void
        def forsake(node)
          @poller.remove(node.socket)
          return if node.wait(DYING)

          @claims.say(node.slot, "which had hung up: did the block exec, or close descriptors?")
          node.signal(:KILL)
        end

        # Reaps a dead one.
        #
        #: (Node) -> Swarm::IPC::ExitStatus
        def bury(node)
          Swarm::IPC::ExitStatus.of(node.wait(nil))
        ensure
          Thread.handle_interrupt(Object => :never) do
            [node.socket, node.pidfd&.to_io].compact.each { |io| @poller.remove(io) }
            strike(node)
          end
        end

        # Ends all nodes and reaps them: the idle by hanging up, others by TERM, at last by KILL.
        #
        #: (calm: bool) -> void
        def disband(calm:)
          @nodes.each(&:recover)
          @nodes.each(&:hang_up)
          @nodes.each { |node| node.signal(:TERM) } unless calm
          await(calm ? PATIENCE : GRACE)
        ensure
          finish
        end

        private

        #: () -> void
        def finish
          @nodes.each { |node| node.tap(&:recover).signal(:KILL) }
          await(nil)
        ensure
          close
        end

        # @forking says to #disown whose child it is in.
        #
        #: (Node) { (Integer slot, Claims, UNIXSocket) -> bot } -> void
        def begin_life(node)
          @forking = Thread.current
          node.start { |socket| yield node.slot, @claims, socket }
        ensure
          @forking = nil
        end

        #: (Node) -> void
        def watch(node)
          @poller.add(node.socket, [node, false])
          @poller.add(node.pidfd.to_io, [node, true]) if node.pidfd&.watchable?
        end

        #: (Numeric? seconds) -> void
        def await(seconds)
          deadline = seconds && (OS.now + seconds)
          @nodes.dup.each do |node|
            strike(node) if node.pid.nil? || node.wait(deadline && [deadline - OS.now, 0].max)
          end
        end

        # One that is closed is never met again, whoever interrupts us (Timeout, Thread#kill).
        #
        #: (Node) -> void
        def strike(node)
          Thread.handle_interrupt(Object => :never) do
            @nodes.delete(node)
            node.close
          end
        end

        # In a child, be it of ours: that needs the claims.
        #
        #: () -> void
        def disown
          @in_forks.cancel
          @poller.close
          @nodes.each(&:disown)
          @claims.close unless @forking == Thread.current
        end

        #: () -> void
        def close
          @in_forks.cancel
          @poller.close
          @claims.close
        end
      end
      private_constant :Roster
    end
  end
end
