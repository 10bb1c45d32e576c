# frozen_string_literal: true

# Keeps the nodes: boots them, replaces them, stops them.
# It acts on what the judges say and on what it is told.
#
#   manager = Manager.new(config, supervisor, loop:, page:, cells:)
#   manager.mold = mold        # from here on it can fork (nil: it can't for the moment)
#   manager.start
#   manager.replace(seat, "restart") { |ok| … }   # the new one ready first
#   manager.stop               # the supervisor's `finish` is called when the last node is gone
#
# Whether the swarm is stopping the supervisor's Course knows alone; when the work has ended on its
# own the manager asks the supervisor to stop.
# It knows no signal, no file and no user's code, and it never waits: all comes through the loop.
module Skep
  class Swarm
    class Manager
      attr_reader :seats #: Array[Seat], those with work
      attr_reader :roster #: Roster, the processes
      attr_reader :registrar #: Registrar
      attr_reader :surroundings #: Surroundings
      attr_reader :upkeep #: Upkeep
      attr_reader :spares #: Spares
      attr_reader :totals #: Totals

      # The supervisor is told by: told (name, level, facts), stop (the work has ended by itself),
      # forced (nodes are killed instead of stopped), emptied (a mold, none of whose nodes is left),
      # looked, and finish, once.
      # kept: the seats that there are already, [id, kind of work].
      def initialize(config, supervisor, loop:, page:, cells:, kept: nil)
        @config = config
        @supervisor = supervisor
        @loop = loop
        @page = page
        @cells = cells
        furnish({ loop:, page:, cells: }, kept)
        appoint
      end

      # All seats: those with work, the helper's if there is one, and the spares'.
      def all = [*@helper, *seats, *spares.reserves] #: () -> Array[Seat]

      def ever_ready? = @ever_ready ? true : false #: () -> bool
      def stopping? = @supervisor.stopping? #: () -> bool
      def killed? = @killed ? true : false #: () -> bool

      # Why it ended by itself: :done, :unclean (not all of the work ended well) or :gave_up.
      attr_reader :outcome #: Symbol?

      # Can't this first boot come to anything? Of each kind of work a node has said that it can't
      # begin, or died more often than it may, and so have as many nodes as boot at a time.
      def hopeless? #: () -> bool
        return false if ever_ready?

        failed = seats.select { |seat| seat.refusal || seat.deaths.times.size > @config.restarts }
        failed.size >= [@config.boot_parallel, seats.size].min &&
          (seats.map(&:task) - failed.map(&:task)).empty?
      end

      def beat_age(node) = node&.ready? ? registrar.watchman.age(node) : nil #: (Node?) -> Float?

      # What a node complains of, if it does.
      #: (Node?) -> String?
      def ailment(node) = node&.ready? ? registrar.watchman.ailment(node) : nil

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
        heed(mold.events) if mold&.events&.any?
      end

      def start #: () -> void
        @started = true
        all.each { |seat| @boots.enqueue(seat) }
      end

      # All events are for the helper, of which there is one from here on.
      def pass_on #: () -> void
        employ
        @helper.hear_all
        attend
      end

      # Boots the helper, if it isn't there and is to be.
      def attend #: () -> void
        return if !@helper || !@started || stopping? || @helper.live? || @helper.waiting?

        @boots.enqueue(@helper)
      end

      # Passes an event on to the helper, if users' blocks want it.
      def overheard(name, facts) = @helper&.tell(name, facts) #: (String, Hash) -> void

      # Lends the helper a socket to serve at (Helper#serve).
      def serve(...) = @helper&.serve(...) #: (BasicSocket, ?anew: bool) -> void

      # Boots a successor for the seat's node, from the current mold or another. When it is ready
      # the old one is stopped; where it can't begin the old one stays. The block is told which.
      #: (Seat, String, **untyped) ?{ (bool succeeded) -> void } -> void
      def replace(seat, reason, **how, &done)
        stopping? ? done&.call(false) : @replacements.begin(seat, reason, **how, &done)
      end

      # Makes room for so many more nodes of a kind of work; returns their seats. An id is free once
      # the last process that had it has gone.
      def add(task, count) #: (Integer, Integer) -> Array[Seat]
        taken = [*seats, *roster.nodes].map(&:id)
        free = (0..).lazy.reject { |id| taken.include?(id) }
        added = free.first(count).map { |id| seat(id, task) }
        @seats.concat(added).sort_by!(&:id)
        spares.retell
        added.each { |seat| @boots.enqueue(seat) }
      end

      # Stops this seat's node for good.
      def remove(seat, reason) #: (Seat, String) -> void
        @seats.delete(seat)&.give_up
        registrar.recoveries.forget(seat)
        spares.retell
        @replacements.failed(seat)
        seat.nodes.each { |node| @replacements.retire(node, reason) }
      end

      # What the next program of the supervisor must know.
      def keep(handover) #: (Handover) -> Hash[String, untyped]
        { "mold" => mold.number, "quiet" => quiet?, "roster" => roster.keep,
          "seats" => seats.map { |seat| seat.keep(handover) },
          "helper" => @helper&.keep(handover),
          "reserves" => spares.reserves.map { |seat| seat.keep(handover) },
          "suspects" => registrar.suspicions.keep,
          "surroundings" => surroundings.keep, "watchman" => registrar.watchman.keep,
          "renewals" => upkeep.renewals.keep, "totals" => totals.keep,
          "recoveries" => registrar.recoveries.keep }
      end

      def recall(plain) #: (Hash[String, untyped]) -> void
        @started = @ever_ready = true
        employ if plain["helper"]
        @quiet = plain["quiet"]
        roster.recall(plain["roster"])
        surroundings.recall(plain["surroundings"])
        registrar.suspicions.recall(plain["suspects"].to_a)
        registrar.watchman.recall(plain["watchman"])
        upkeep.renewals.recall(plain["renewals"])
        totals.recall(plain["totals"]) if plain["totals"]
        registrar.recoveries.recall(plain["recoveries"]) if plain["recoveries"]
      end

      # Asks every node to end; what is left at stop_timeout is killed.
      def stop #: () -> void
        retire_seats
        roster.nodes.each { |node| node.stop unless node.helper? }
        @stop_timers = registrar.notice.give_all(roster) { force("stop_timeout") }
        check
      end

      # Ends every node at once.
      def force(reason) #: (String) -> void
        @killed = true
        retire_seats
        @supervisor.forced
        roster.nodes.each { |node| node.kill(reason) }
        check
      end

      # Nodes take nothing new, those that will replace them neither.
      def quiet #: () -> void
        @quiet = true
        roster.nodes.each { |node| node.quiet unless node.helper? }
      end

      def backtraces = roster.nodes.each { |node| node.channel.send("backtraces") } #: () -> void

      # Asked by the Registrar.

      def quiet? = @quiet ? true : false #: () -> bool
      def booted = @ever_ready = true #: () -> void
      def looked(...) = @supervisor.looked(...) #: (Float, bool) -> void
      def emptied(mold) = roster.of(mold).empty? && @supervisor.emptied(mold) #: (Mold) -> void

      def warm(node) #: (Node) -> void
        @supervisor.warm(node) if @config.refork_after && node.task
      end

      # How things stand, for the helper.
      def answer(node, number) #: (Node, Integer) -> void
        return unless node.helper?

        status = @supervisor.snapshot
        [status, Snapshot.short(status)].each do |facts|
          break if node.channel.send("answer", { number:, status: facts }, may_drop: true)
        end
      end

      # A node came to its end by us.
      def killed #: () -> void
        @killed = true if stopping?
      end

      # What a node has in hand, on the page, be it dead.
      def in_hand(node) = registrar.signs.in_hand(node) #: (Node) -> Array[String]

      # The work ended by itself, or there is no use in going on.
      #: (Symbol) -> void
      def over(outcome)
        @outcome = outcome
        @supervisor.stop(reason: outcome)
      end

      # Is nobody left of a swarm that is stopping?
      #: () -> void
      def check
        return if @ended || roster.work?
        return @helper.leave_last if @helper&.live?

        @ended = true
        @stop_timers&.each(&:cancel)
        @supervisor.finish
      end

      private

      def appoint
        @registrar = Registrar.new(self, @config, loop: @loop, page: @page, cells: @cells,
                                                  tell: method(:tell))
        @boots, @replacements = registrar.boots, registrar.replacements
        @surroundings = Surroundings.new(OS::Cgroup.of, told: @supervisor.method(:told))
        @upkeep = Upkeep.new(self, @config, surroundings, loop: @loop, tell: method(:tell),
                                                          weights: registrar.signs.method(:weight))
      end

      def furnish(shared, kept)
        @roster = Roster.new(@cells.nodes)
        @totals = Totals.new
        @spares = Spares.new(@config, self, **shared)
        places = kept || @config.placement.each_with_index.map { |task, id| [id, task] }
        @seats = places.map { |id, task| seat(id, task, fresh: kept.nil?) }
        employ if @config.helper?
      end

      def employ = @helper ||= Helper.new(@config.events)

      # The code of a new mold may have blocks for other events than that of the last one.
      def heed(events)
        employ
        @helper.hear(events)
        attend
      end

      def seat(id, task, fresh: true) = Seat.new(id, task, spares.claim(id, fresh:))

      def retire_seats
        @boots.close
        @replacements.abandon
        all.each do |seat|
          @boots.withdraw(seat)
          seat.done
        end
      end

      # who: a node or a seat; nil where it is about all of them.
      def tell(name, who, level: :info, **facts)
        about = who ? { node: who.label, mold: who.mold&.number, pid: who.pid } : {}
        @supervisor.told(name, level, { **about, **facts.compact })
      end
    end
  end
end
