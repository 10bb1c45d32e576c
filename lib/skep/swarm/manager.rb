# frozen_string_literal: true

# Keeps the nodes: boots them, replaces them, stops them.
# It acts on what the judges say and on what it is told.
#
#   manager = Manager.new(config, loop:, page:, cells:, emit:, finished: -> { … })
#   manager.mold = mold        # from here on it can fork (nil: it can't for the moment)
#   manager.start
#   manager.stop               # finished is called when the last node is gone
#
# It knows no signal, no file and no user's code, and it never waits: all comes through the loop.
module Skep
  class Swarm
    class Manager
      FORK_RETRY = 0.1 # seconds, where the system refused a fork
      private_constant :FORK_RETRY

      attr_reader :nodes #: Array[Node]

      # emit: called with name, level, facts; forced: when nodes are killed instead of stopped;
      # finished: called once, when stopped or when all work is done.
      def initialize(config, loop:, page:, cells:, emit:, forced:, finished:)
        @config = config
        @loop = loop
        @page = page
        @cells = cells
        @emit = emit
        @forced = forced
        @finished = finished
        @nodes = config.placement.each_with_index.map { |task, id| Node.new(id, task) }
        @helper = Helper.new(@nodes.size, config.events) if config.helper?
        appoint_judges
      end

      # The nodes, and the helper if there is one.
      def all = [*nodes, *@helper] #: () -> Array[Node]

      def ever_ready? = @ever_ready ? true : false #: () -> bool
      def stopping? = @stopping ? true : false #: () -> bool
      def killed? = @killed ? true : false #: () -> bool

      # Why it ended by itself: :done, :unclean (not all of the work ended well) or :gave_up.
      attr_reader :outcome #: Symbol?

      # Can't this first boot come to anything? Of each kind of work a node has said that it can't
      # begin, or died more often than it may, and so have as many nodes as boot at a time.
      def hopeless? #: () -> bool
        return false if ever_ready?

        failed = nodes.select { |node| node.refusal || node.deaths.size > @config.restarts }
        failed.size >= [@config.boot_parallel, nodes.size].min &&
          (nodes.map(&:task) - failed.map(&:task)).empty?
      end

      def beat_age(node) = node.ready? ? @watchman.age(node) : nil #: (Node) -> Float?

      def done_count(node) #: (Node) -> Integer
        @cells.all(node.id).sum { |cell| @page.get(cell, Cells::DONE) }
      end

      def mold=(mold) #: (Mold?) -> void
        @boots.mold = mold
      end

      def start = [*@helper, *nodes].each { |node| @boots.enqueue(node) } #: () -> void

      # Passes an event on to the helper, if users' blocks want it.
      def overheard(name, facts) = @helper&.tell(name, facts) #: (String, Hash) -> void

      # Asks every node to end; what is left at stop_timeout is killed.
      def stop #: () -> void
        return if stopping?

        @stopping = true
        @boots.close
        nodes.each { |node| node.live? ? node.stop : @boots.retire(node) }
        @stop_timer = @loop.after(@config.stop_timeout) { force("stop_timeout") }
        check
      end

      # Ends every node at once.
      def force(reason) #: (String) -> void
        @stopping = @killed = true
        @boots.close
        @forced.call
        all.each { |node| node.live? ? node.kill(reason) : @boots.retire(node) }
        check
      end

      # Nodes take nothing new, those that will replace them neither.
      def quiet #: () -> void
        @quiet = true
        nodes.select(&:live?).each(&:quiet)
      end

      def backtraces #: () -> void
        all.select(&:live?).each { |node| node.channel.send("backtraces") }
      end

      # What the mold reports.

      def forked(id, pid, pidfd) #: (Integer, Integer, OS::Pidfd) -> void
        node = all[id]
        node.forked(pid, pidfd)
        tell(:node_forked, node)
        node.channel.listen # not before: what it says must find a node with a pid
        node.quiet if @quiet && !node.helper? && !stopping?
        node.kill("forced") if killed?
        @adoption.follow(node) if node.live? && pidfd&.watchable?
      end

      def fork_failed(id, error) #: (Integer, String) -> void
        node = all[id]
        node.ended(Exit.new, OS.now, within: @config.restarts_within)
        unforked(node, error)
      end

      def exited(id, pid, exit) #: (Integer, Integer, Exit) -> void
        settle(all[id], exit) if all[id].live? && all[id].pid == pid
      end

      # The mold is gone: its nodes fell to us, and those it hadn't reported are taken for lost.
      def mold_died(mold) #: (Mold) -> void
        @boots.lose(mold)
        all.select { |node| node.live? && node.mold == mold }.each { |node| @adoption.take(node) }
      end

      private

      # Who says when a node is hung, has ended, or may be forked.
      def appoint_judges
        shared = { loop: @loop, page: @page, cells: @cells }
        @watchman = Watchman.new(@config, **shared) { |node, age| hung(node, age) }
        @adoption = Adoption.new(@loop) { |node, exit| settle(node, exit) }
        @hearing = Hearing.new(@loop, tell: method(:tell), ready: method(:ready),
                                      silent: @adoption.method(:silent))
        @boots = BootQueue.new(@config, **shared, nodes:, hearing: @hearing,
                                        failed: method(:unforked))
        @succession = Succession.new(@config, nodes:, boots: @boots, tell: method(:tell),
                                              over: method(:over))
      end

      def unforked(node, error)
        tell(:fork_failed, node, level: :error, error:, seconds: FORK_RETRY)
        stopping? ? check : @boots.later(node, FORK_RETRY)
      end

      def ready(node)
        node.boot_timer.cancel
        node.ready(OS.now)
        @ever_ready = true unless node.helper?
        tell(:node_ready, node, seconds: node.took.round(6))
        @watchman.watch(node)
        @boots.pump
      end

      def hung(node, age)
        tell(:node_hung, node, level: :error, beat_age: age, in_hand: in_hand(node))
        node.channel.send("backtraces")
        node.kill("hung", :TERM)
        node.watches << @loop.after(@config.kill_timeout) { node.kill("hung") }
      end

      def settle(node, exit)
        node.channel.drain
        held = in_hand(node)
        reason = exit.signal && node.kill_reason
        node.ended(exit, OS.now, within: @config.restarts_within)
        tell(:node_died, node, level: exit.clean? ? :info : :warn, **exit.to_plain, reason:,
                               in_hand: held.any? ? held : nil)
        @killed = true if reason && stopping?
        stopping? ? check : @succession.after(node, exit)
      end

      # The work ended by itself, or there is no use in going on.
      def over(outcome)
        @outcome = outcome
        stop
      end

      def check
        return if @ended || nodes.any?(&:live?)
        return dismiss if @helper&.live?

        @ended = true
        @stop_timer&.cancel
        @finished.call
      end

      # The last to go: it has heard of every node's end.
      def dismiss
        @helper.stop unless @helper.state == :stopping
      end

      def in_hand(node)
        @cells.all(node.id).filter_map { |cell| @page.read(cell) }.reject(&:empty?)
      end

      def tell(name, node, level: :info, **facts)
        @emit.call(name, level, { node: node.label, mold: node.mold&.number, pid: node.pid,
                                  **facts.compact })
      end
    end
  end
end
