# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Who the nodes of a map are, what to hear of them, and their end.
      #
      #   roster = Roster.new(limit, threads)
      #   roster.recruit { |slot, page, socket| … }         # forks; the block is the child's
      #   roster.wait(1.0) { |node, ended| … }
      #   roster.bury(node)                                 # => [its end, items in hand, words]
      #   roster.disband(calm: true)
      class Roster
        GRACE = 1.0    # seconds from TERM to KILL
        PATIENCE = 5.0 # seconds for a node with nothing to do to end, before it is killed
        private_constant :GRACE, :PATIENCE

        attr_reader :nodes #: Array[Node]

        #: (Integer limit, Integer threads) -> void
        def initialize(limit, threads)
          @limit = limit
          @threads = threads
          @nodes = []
          @poller = OS::Poller.new
          @page = OS::Page.create(limit * threads)
          @in_forks = Skep.on_fork(child: method(:disown))
        end

        #: () -> bool
        def full? = @nodes.size >= @limit

        # Forks a node. Where the machine has no room for it, those there are must do.
        #
        #: () { (Integer slot, OS::Page, UNIXSocket) -> bot } -> void
        def recruit(&life)
          slot = ((0...@limit).to_a - @nodes.map(&:slot)).first
          @threads.times { |number| @page.clear((slot * @threads) + number) }
          @nodes << (node = Node.new(slot, @threads))
          begin_life(node, &life)
          watch(node)
        rescue Errno::EAGAIN, Errno::ENOMEM
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
          node.signal(:KILL)
        end

        # Tells it to let go of what it hasn't begun, or not to any more.
        #
        #: (Node, bool) -> void
        def hurry(node, hurried)
          return if node.hurried == hurried

          node.hurried = hurried
          @page.set(node.slot * @threads, Hand::HURRY, hurried ? 1 : 0)
        end

        # Reaps a dead one.
        #
        #: (Node) -> [Swarm::Exit, Array[Integer], String?]
        def bury(node)
          exit = Swarm::Exit.of(node.wait(nil))
          first = node.slot * @threads
          items = Array.new(@threads) { |number| @page.get(first + number, Hand::ITEM) - 1 }
          [exit, items, @page.read(first)]
        ensure
          [node.socket, node.pidfd&.to_io].compact.each { |io| @poller.remove(io) }
          @nodes.delete(node)
          node.close
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
          @nodes.each { |node| node.signal(:KILL) }
          await(nil)
          close
        end

        private

        # @forking says to #disown whose child it is in.
        #
        #: (Node) { (Integer slot, OS::Page, UNIXSocket) -> bot } -> void
        def begin_life(node)
          @forking = Thread.current
          node.start { |socket| yield node.slot, @page, socket }
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
          @nodes.reject! do |node|
            node.close if node.pid.nil? || node.wait(deadline && [deadline - OS.now, 0].max)
          end
        end

        # In a child, be it of ours: that needs the page.
        #
        #: () -> void
        def disown
          @in_forks.cancel
          @poller.close
          @nodes.each(&:disown)
          @page.close unless @forking == Thread.current
        end

        #: () -> void
        def close
          @in_forks.cancel
          @poller.close
          @page.close
        end
      end
      private_constant :Roster
    end
  end
end
