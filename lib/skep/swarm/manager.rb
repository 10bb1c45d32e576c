# frozen_string_literal: true

# Keeps the nodes: boots them, replaces them, stops them.
# It acts on what the judges say and on what it is told.
#
#   manager = Manager.new(config, loop:, page:, cells:, emit:, forced:, finished: -> { … })
#   manager.mold = mold        # from here on it can fork (nil: it can't for the moment)
#   manager.start
#   manager.replace(seat, "restart") { |ok| … }   # the new one ready first
#   manager.stop               # finished is called when the last node is gone
#
# It knows no signal, no file and no user's code, and it never waits: all comes through the loop.
module Skep
  class Swarm
    class Manager
      FORK_RETRY = 0.1 # seconds, where the system refused a fork
      private_constant :FORK_RETRY

      attr_reader :seats #: Array[Seat], those with work
      attr_reader :roster #: Roster, the processes

      # emit: called with name, level, facts; forced: when nodes are killed instead of stopped;
      # finished: called once, when stopped or when all work is done; emptied: with a mold, none of
      # whose nodes is left.
      def initialize(config, loop:, page:, cells:, emit:, forced:, finished:, emptied:)
        @config = config
        @loop = loop
        @page = page
        @cells = cells
        @emit = emit
        @forced = forced
        @finished = finished
        @emptied = emptied
        @roster = Roster.new(cells.nodes)
        @seats = config.placement.each_with_index.map { |task, id| Seat.new(id, task) }
        @helper = Helper.new(config.events) if config.helper?
        appoint
      end

      # All seats: those with work, and the helper's if there is one.
      def all = [*@helper, *seats] #: () -> Array[Seat]

      def ever_ready? = @ever_ready ? true : false #: () -> bool
      def stopping? = @stopping ? true : false #: () -> bool
      def killed? = @killed ? true : false #: () -> bool

      # Why it ended by itself: :done, :unclean (not all of the work ended well) or :gave_up.
      attr_reader :outcome #: Symbol?

      # Can't this first boot come to anything? Of each kind of work a node has said that it can't
      # begin, or died more often than it may, and so have as many nodes as boot at a time.
      def hopeless? #: () -> bool
        return false if ever_ready?

        failed = seats.select { |seat| seat.refusal || seat.deaths.size > @config.restarts }
        failed.size >= [@config.boot_parallel, seats.size].min &&
          (seats.map(&:task) - failed.map(&:task)).empty?
      end

      def beat_age(node) = node&.ready? ? @watchman.age(node) : nil #: (Node?) -> Float?

      def done_count(node) #: (Node?) -> Integer
        node ? @cells.all(node.slot).sum { |cell| @page.get(cell, Cells::DONE) } : 0
      end

      # How busy a seat's node is: what it has in hand.
      def load(seat) #: (Seat) -> Integer
        seat.nodes.sum { |node| in_hand(node).size }
      end

      # How many seats the page has room for, each with a successor.
      def room = roster.slots / 2 #: () -> Integer

      def mold = @boots.mold #: () -> Mold?

      def mold=(mold) #: (Mold?) -> void
        @boots.mold = mold
      end

      def start = all.each { |seat| @boots.enqueue(seat) } #: () -> void

      # Passes an event on to the helper, if users' blocks want it.
      def overheard(name, facts) = @helper&.tell(name, facts) #: (String, Hash) -> void

      # Boots a successor for the seat's node, from the current mold or another. When it is ready
      # the old one is stopped; where it can't begin the old one stays. The block is told which.
      #: (Seat, String, ?mold: Mold?) ?{ (bool succeeded) -> void } -> void
      def replace(seat, reason, mold: nil, &done)
        return done&.call(false) if stopping? || seat.replacement || !seat.live?

        seat.replacement = Replacement.new(seat, reason, @loop, &done)
        tell(:node_replacing, seat, reason:)
        @boots.enqueue(seat, mold:)
      end

      # Makes room for so many more nodes of a kind of work; returns their seats.
      def add(task, count) #: (Integer, Integer) -> Array[Seat]
        ids = (0..).lazy.reject { |id| seats.any? { |seat| seat.id == id } }
        added = ids.first(count).map { |id| Seat.new(id, task) }
        @seats.concat(added).sort_by!(&:id)
        added.each { |seat| @boots.enqueue(seat) }
      end

      # Stops this seat's node for good.
      def remove(seat, reason) #: (Seat, String) -> void
        @seats.delete(seat)
        @boots.withdraw(seat)
        seat.nodes.each do |node|
          node.retire(reason)
          node.watches << @loop.after(@config.stop_timeout) { node.kill("stop_timeout") }
        end
        seat.replacement&.over(false)
      end

      # Asks every node to end; what is left at stop_timeout is killed.
      def stop #: () -> void
        return if stopping?

        @stopping = true
        retire_seats
        roster.nodes.each { |node| node.stop unless node.helper? }
        @stop_timer = @loop.after(@config.stop_timeout) { force("stop_timeout") }
        check
      end

      # Ends every node at once.
      def force(reason) #: (String) -> void
        @stopping = @killed = true
        retire_seats
        @forced.call
        roster.nodes.each { |node| node.kill(reason) }
        check
      end

      # Nodes take nothing new, those that will replace them neither.
      def quiet #: () -> void
        @quiet = true
        roster.nodes.each { |node| node.quiet unless node.helper? }
      end

      def backtraces = roster.nodes.each { |node| node.channel.send("backtraces") } #: () -> void

      # What the mold reports.

      def forked(slot, pid, pidfd) #: (Integer, Integer, OS::Pidfd?) -> void
        node = roster[slot]
        node.forked(pid, pidfd)
        tell(:node_forked, node)
        node.channel.listen # not before: what it says must find a node with a pid
        admit(node)
        node.kill("forced") if killed?
        @adoption.follow(node) if node.live? && pidfd&.watchable?
      end

      def fork_failed(slot, error) #: (Integer, String) -> void
        node = roster[slot]
        dismiss(node, Exit.new)
        tell(:fork_failed, node, level: :error, error:, seconds: FORK_RETRY)
        unforked(node.seat)
      end

      def exited(slot, pid, exit) #: (Integer, Integer, Exit) -> void
        node = roster[slot]
        settle(node, exit) if node&.pid == pid
      end

      # The mold is gone: its nodes fell to us, and those it hadn't reported are taken for lost.
      def mold_died(mold) #: (Mold) -> void
        @boots.lose(mold)
        roster.of(mold).each { |node| @adoption.take(node) }
      end

      private

      # Who says when a node is hung, has ended, or may be forked.
      def appoint
        shared = { loop: @loop, page: @page, cells: @cells }
        @watchman = Watchman.new(@config, **shared) { |node, age| hung(node, age) }
        @adoption = Adoption.new(@loop) { |node, exit| settle(node, exit) }
        @hearing = Hearing.new(@loop, tell: method(:tell), ready: method(:ready),
                                      silent: @adoption.method(:silent))
        @boots = BootQueue.new(@config, **shared, roster:, hearing: @hearing,
                                        failed: method(:no_channel))
        @succession = Succession.new(@config, seats:, boots: @boots, tell: method(:tell),
                                              over: method(:over))
      end

      # What a node that has just been forked must know.
      def admit(node)
        return if node.helper?

        node.quiet if @quiet && !stopping?
        node.stop if stopping?
      end

      def retire_seats
        @boots.close
        all.each do |seat|
          @boots.withdraw(seat)
          seat.done
        end
      end

      def no_channel(seat, error)
        tell(:fork_failed, seat, level: :error, error:, seconds: FORK_RETRY)
        seat.died(OS.now, @config.restarts_within)
        unforked(seat)
      end

      def unforked(seat)
        return check if stopping?
        return replaced(seat, false) if seat.replacement && seat.live?

        @boots.later(seat, FORK_RETRY) unless seat.live?
      end

      def ready(node)
        node.boot_timer.cancel
        node.ready(OS.now)
        @ever_ready = true unless node.helper?
        tell(:node_ready, node, seconds: node.took.round(6))
        @watchman.watch(node)
        seat = node.seat
        seat.replacement&.ready(seat.node, @config.stop_timeout) if node == seat.successor
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
        standing = dismiss(node, exit)
        reason = node.reason if exit.signal || node.retired?
        tell(:node_died, node, level: exit.clean? ? :info : :warn, **exit.to_plain, reason:,
                               in_hand: held.any? ? held : nil)
        @killed = true if exit.signal && reason && stopping?
        stopping? ? check : follow(node, standing)
        @emptied.call(node.mold) if roster.of(node.mold).empty?
      end

      # The process is gone. What it leaves its seat: see Seat#leave.
      def dismiss(node, exit)
        node.ended
        roster.remove(node)
        node.seat.leave(node, exit, OS.now, within: @config.restarts_within)
      end

      def follow(node, standing)
        seat = node.seat
        return replaced(seat, false) if standing == :unchanged
        return promoted(seat) if standing == :held
        return unless all.include?(seat) # it was removed

        @boots.withdraw(seat) # a successor that isn't forked yet: the next node is in its stead
        replaced(seat, false)
        @succession.after(seat, node)
      end

      # The successor holds the seat from here on.
      def promoted(seat)
        seat.node.place
        replaced(seat, true)
      end

      def replaced(seat, succeeded)
        replacement = seat.replacement or return
        tell(:node_replaced, seat, reason: replacement.reason) if succeeded
        tell(:replacement_failed, seat, level: :error, reason: replacement.reason) unless succeeded
        replacement.over(succeeded)
        @boots.pump
      end

      # The work ended by itself, or there is no use in going on.
      def over(outcome)
        @outcome = outcome
        stop
      end

      def check
        return if @ended || roster.work?
        return @helper.leave_last if @helper&.live?

        @ended = true
        @stop_timer&.cancel
        @finished.call
      end

      def in_hand(node)
        @cells.all(node.slot).filter_map { |cell| @page.read(cell) }.reject(&:empty?)
      end

      def tell(name, who, level: :info, **facts)
        @emit.call(name, level, { node: who.label, mold: who.mold&.number, pid: who.pid,
                                  **facts.compact })
      end
    end
  end
end
