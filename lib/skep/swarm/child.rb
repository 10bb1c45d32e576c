# frozen_string_literal: true

# A node as the user's work sees it.
#
#   swarm.work do |child|
#     child.ready!                     # able to work: the supervisor counts on it from here on
#     until child.stopping?
#       child.wait(1.0) and next       # returns early at stop or quiet, beats while it waits
#       child.busy(for: 120) { … }     # a long job that isn't to be considered a hang
#       child.beat                     # progress: costs nanoseconds
#     end
#   end
#
# It reports and waits; it decides nothing. Its methods may be called from any thread.
module Skep
  class Swarm
    class Child
      attr_reader :id #: Integer?, the node's number, 0 to nodes - 1; nil: a spare without a slot
      attr_reader :swarm #: String, the swarm's name
      attr_reader :mold #: Integer, the number of the mold it was forked from

      # report: sends a message to the supervisor. page_index: of its cells on the page. placed: no
      # other process holds its slot. warm_after: items that one thread does until the process is
      # worth forking from. suspects: as plain data.
      def initialize(id:, swarm:, mold:, page:, layout:, report:, beat_every: 10.0, page_index: id,
                     placed: true, warm_after: nil, suspects: nil, stop_timeout: nil)
        @id, @page_index, @swarm, @mold, @placed = id, page_index, swarm, mold, placed
        @warm_after, @stop_timeout, @suspects = warm_after, stop_timeout, suspects
        @report = report
        @complain_every = beat_every * Health::LivenessPolicy::BEATS * Health::UnhealthyPolicy::SPACING
        @threads = layout.threads
        @heartbeat_of = lambda do |thread|
          IPC::Scoreboard::Heartbeat.new(page, layout.of(@page_index, thread:))
        end
        @heartbeats = [@own = @heartbeat_of.call(0)]
        @lanes = {}
        @holders = {}.compare_by_identity # threads that have something in flight for a lane
        @stop_hooks = []
        @lock = Mutex.new
        @waiter = InterruptibleWait.new(every: beat_every) { stopping? }
        beat
      end

      # Reports that it has booted and can work. Only the first call counts.
      def ready! #: () -> void
        beat
        return if @ready

        @ready = true
        @report.call("ready", {})
      end

      # Reports that the work has got what it works on (for Kafka: its partitions), or has lost it.
      def joined!(joined = true, **facts) #: (?bool, **untyped) -> void
        fields = outgoing("joined", { "joined" => joined, "facts" => facts }, "joined!")
        beat
        @report.call("joined", fields)
      end

      # Waits until no other process holds this node's slot. A replacement boots beside the node it
      # replaces, and can't yet take what only one process can have: a static member's place in its
      # group, a lock, a port. Returns true at once for all other nodes; false if it is to stop.
      def take_place #: () -> bool
        @place_wanted = true
        @waiter.until(@own) { @placed }
        !stopping?
      end

      # Reports progress, on the shared page and without a system call.
      def beat = (@holders.empty? ? @own : heartbeat).beat #: () -> void

      # The same, and the part of what is in flight that was just given out; nil: all of it.
      def at(number) #: (Integer?) -> void
        (@holders.empty? ? @own : heartbeat).at(number)
      end

      # Declares that no beat is due for so many seconds; with a block, until it returns.
      #: (for: Numeric) ?{ () -> untyped } -> untyped
      def busy(for:, &block) = heartbeat.busy(binding.local_variable_get(:for), &block)

      # Returns the child as the work's thread 1, 2 … sees it; 0: this child.
      def lane(thread) #: (Integer) -> (Child | Processes::ThreadContext)
        return self if IPC::Messages.whole(thread, "lane takes", most: @threads).zero?

        @lanes[thread] ||= begin
          @heartbeats << (heartbeat = @heartbeat_of.call(thread))
          Processes::ThreadContext.new(self, heartbeat)
        end
      end

      # Reports that it can't work, for that reason. The supervisor replaces a node that repeats it,
      # or that neither beats nor reports `healthy!` (docs/liveness.md).
      def unhealthy!(reason) = __unhealthy(reason, heartbeat) #: (String) -> void

      # Reports that it can work again.
      def healthy! #: () -> void
        @heartbeats.each(&:mark_healthy)
        @report.call("healthy", {}) if @complained_at
        @complained_at = nil
      end

      # Returns the seconds left of stop_timeout, when the process is killed; nil before the stop.
      def time_left #: () -> Float?
        @stopped_at && @stop_timeout && (@stopped_at + @stop_timeout - OS.now)
      end

      # Returns the producer that a Kafka source lends to the handler of this child, with `produce`,
      # `produce_sync` and `flush` of Skep::Kafka::Producer. Raises NoProducer elsewhere.
      def producer = @producer || raise(NoProducer) #: () -> untyped

      # Returns what other nodes had in flight when they crashed.
      def caution #: () -> Processes::KnownSuspects
        @lock.synchronize { @caution ||= Processes::KnownSuspects.new(@suspects, report: @report) }
      end

      def beat_every = @waiter.every #: () -> Float, the seconds after which waiting beats

      # Returns true from the stop on: the work is to end.
      def stopping? #: () -> bool
        @stopping ? true : false
      end

      # Returns true if it is to stop and no node follows it, since the swarm was scaled down.
      def for_good? = stopping? && @for_good ? true : false #: () -> bool

      # Returns true from quiet or stop on: the work is to take nothing new.
      def quiet? = @quiet || stopping? #: () -> bool

      # Waits so many seconds (nil: without limit). Returns true, and early, at stop or quiet.
      def wait(timeout = nil) = __wait(timeout, heartbeat) #: (?Numeric?) -> bool

      # Waits until one of the IOs is readable. Returns those; none at stop, quiet or the timeout.
      #: (Array[IO], ?Numeric?) -> Array[IO]
      def wait_for(ios, timeout = nil) = __wait_for(ios, timeout, heartbeat)

      # Runs the block at the stop, on a thread of its own, while the work is still busy; at once if
      # it is stopping already.
      def on_stop(&block) #: () { () -> void } -> void
        late = @lock.synchronize { @stopping || (@stop_hooks << block && false) }
        guard { block.call } if late
      end

      # Makes an event, a log line and a counter in the supervisor. Facts that aren't plain data are
      # shown by `inspect`. Raises ArgumentError for a wrong name, level or size (2 MiB, 32 levels).
      def event(name, level: :info, **facts) #: (String | Symbol, ?level: Symbol, **untyped) -> void
        fields = { "name" => name, "level" => level, "facts" => facts }
        @report.call("event", outgoing("event", fields, "event"))
      end

      # Writes what is in flight to where the supervisor finds it if the node dies. nil: nothing is.
      # thread: a worker thread's. Only `lane` makes that thread owe progress with it.
      def in_hand(text, thread: 0) #: (String?, ?thread: Integer) -> void
        thread = IPC::Messages.whole(thread, "in_hand(thread:) takes", most: @threads)
        (thread.zero? ? @own : @heartbeat_of.call(thread)).label(text)
      end

      # Counts so many messages or items as done.
      def count(number = 1, thread: 0) #: (?Integer, ?thread: Integer) -> void
        IPC::Messages.whole(thread, "count(thread:) takes", most: @threads)
        thread.zero? ? __counted(@own.count(number)) : lane(thread).count(number)
      end

      # Sets the facts that `skep status` shows (docs/work.md). Raises ArgumentError for wrong ones.
      def work=(facts) #: (Hash) -> void
        @report.call("work", outgoing("work", { "facts" => facts }, "work="))
      end

      def inspect = "#<Skep::Swarm::Child #{swarm} node=#{id} mold=#{mold}>" #: () -> String

      # From here on for skep's own code: the control thread's, then the work's and its lanes'.

      def __quiet #: () -> void
        @quiet = true
        @waiter.notify
      end

      def __stop(for_good: false) #: (?for_good: bool) -> void
        @for_good ||= for_good
        return if @stopping

        @stopped_at = OS.now
        hooks = @lock.synchronize { (@stopping = true) && @stop_hooks }
        @waiter.wake
        @report.call("leaving", {})
        Threads::Background.new("stop") { hooks.each { |hook| guard { hook.call } } } if hooks.any?
      end

      def __place #: () -> void
        @placed = true
        @waiter.wake if @place_wanted
      end

      # Its work is to end, and its process to become that mold, on that socket.
      def __become_mold(number, socket) #: (Integer, BasicSocket) -> void
        @mold_order = [number, socket]
        __stop
      end

      def leave = @waiter.close #: () -> void, nothing waits here any more
      def __ready? = @ready ? true : false #: () -> bool
      def __mold_order = @mold_order #: () -> [Integer, BasicSocket]?
      def __lend(producer) = @producer = producer #: (untyped) -> void

      # A spare has this slot now, alone: it gets the slot of a dead node only.
      def __assign(id) #: (Integer) -> void
        @id = id
        @placed = true
      end

      # Where C may do the same as `at`: IPC::Scoreboard::Heartbeat#spot.
      def __spot = @own.spot #: () -> [Integer, Integer, Integer]?

      # The calling thread beats for that heartbeat from here on; nil: for the node's.
      def __holds(heartbeat) #: (IPC::Scoreboard::Heartbeat?) -> void
        heartbeat ? @holders[Thread.current] = heartbeat : @holders.delete(Thread.current)
      end

      # done: by one of its threads in all.
      def __counted(done) #: (Integer) -> void
        return unless @warm_after && done >= @warm_after

        @warm_after = nil
        @report.call("warm", {})
      end

      def __unhealthy(reason, heartbeat) #: (String, IPC::Scoreboard::Heartbeat) -> void
        fields = outgoing("unhealthy", { "reason" => reason }, "unhealthy!")
        heartbeat.mark_unhealthy
        now = OS.now
        return if @complained_at && now - @complained_at < @complain_every

        @complained_at = now
        @report.call("unhealthy", fields)
      end

      #: (Numeric?, IPC::Scoreboard::Heartbeat) -> bool
      def __wait(timeout, heartbeat) = @waiter.wait_for([], timeout, heartbeat) && quiet?

      #: (Array[IO], Numeric?, IPC::Scoreboard::Heartbeat) -> Array[IO]
      def __wait_for(ios, timeout, heartbeat) = @waiter.wait_for(ios, timeout, heartbeat)

      private

      def outgoing(...) = IPC::Messages::FROM_NODE.outgoing(...)

      def heartbeat = @holders.empty? ? @own : @holders[Thread.current] || @own

      def guard
        yield
      rescue StandardError => e # a user's hook: its failure is reported, and the stop goes on
        event(:hook_failed, level: :error, hook: "on_stop", error: IPC::PlainData.error(e))
      end

      # Waits for IOs, a deadline or a wake-up, and ticks meanwhile; of any number of threads and
      # fibers at once.
      #
      #   waiter = InterruptibleWait.new(every: 10.0) { stopping? }   # the block: is waiting over?
      #   waiter.wait_for([io], 5.0, heartbeat)   # => [io]; [] once notified, or at the deadline
      #   waiter.until(heartbeat) { placed? }     # calls the block at each wake-up
      #   waiter.notify    # ends each thread's wait_for, or its next one
      #   waiter.wake      # wakes those that wait `until`
      #
      # Each wake-up closes a pipe of its own, and all that have checked wait with the next one's.
      # So a wait whose thread can't run, or was killed, keeps no other wait awake.
      class InterruptibleWait
        # The pipe of one wake-up, and the number of waits that use it. The last one closes it.
        class Bell
          attr_reader :wake #: IO

          def initialize #: () -> void
            @wake, @waker = OS.pipe
            @waits = 0
          end

          def ring = @waker.close #: () -> void
          def rung? = @waker.closed? #: () -> bool
          def enter = tap { @waits += 1 } #: () -> Bell

          def leave = (@waits -= 1) && retire #: () -> void

          # Called when waits use another one from here on.
          def retire = rung? && @waits.zero? && @wake.close #: () -> void
          def close = [@wake, @waker].each(&:close) #: () -> void
          def closed? = @wake.closed? #: () -> bool
        end
        private_constant :Bell

        attr_reader :every #: Float, the seconds after which waiting ticks

        def initialize(every:, &over) #: (every: Float) { () -> bool } -> void
          @every = every
          @over = over
          @bell = Bell.new
          @lock = Mutex.new
          @notified = 0
          @key = :"skep_notified_#{object_id}"
        end

        def wake #: () -> void
          @lock.synchronize do
            @bell.ring
            renew unless @bell.closed?
          end
        end

        def notify #: () -> void
          @notified += 1
          wake
        end

        def close = @lock.synchronize { @bell.close } #: () -> void

        #: (Array[IO], Numeric?, IPC::Scoreboard::Heartbeat) -> Array[IO]
        def wait_for(ios, timeout, heartbeat) = wait(ios, timeout, heartbeat) { notified? }

        # Waits until the block returns true, or waiting is over.
        #: (IPC::Scoreboard::Heartbeat, ?Numeric?) { () -> bool } -> void
        def until(heartbeat, timeout = nil, &block) = wait([], timeout, heartbeat, &block)

        private

        def wait(ios, timeout, heartbeat)
          deadline = timeout ? OS.now + timeout : Float::INFINITY
          found = []
          bell = nil
          Kernel.loop do
            bell = current(bell)
            return [] if @over.call || yield
            return found if found.any?

            heartbeat.tick
            readable = readable([bell.wake, *ios], (deadline - OS.now).clamp(0, every)) || []
            return readable if readable.any? && !readable.include?(bell.wake)
            return [] if readable.empty? && OS.now >= deadline

            found = readable - [bell.wake]
          end
        ensure
          @lock.synchronize { bell&.leave }
          heartbeat.tick # the next item has the full time
        end

        # Returns true once for each thread, or fiber, after a notification.
        def notified?
          notified = @notified
          return false if Thread.current[@key].to_i == notified

          Thread.current[@key] = notified
          true
        end

        # Returns the bell of the next wake-up, in place of the one that the wait has used.
        def current(bell)
          @lock.synchronize do
            renew if @bell.rung?
            next bell if bell == @bell

            bell&.leave
            @bell.enter
          end
        end

        # Without a free descriptor the bell stays rung, and each wait checks again and again until
        # there is one. So no wake-up is missed.
        def renew
          rung, @bell = @bell, Bell.new
          rung.retire
        rescue Errno::EMFILE, Errno::ENFILE
          nil
        end

        # A single IO is waited for through the Fiber scheduler, if there is one: a scheduler
        # without IO.select would block all its fibers.
        def readable(ios, seconds)
          return IO.select(ios, nil, nil, seconds)&.first unless ios.one?

          ios if ios.first.wait_readable(seconds)
        end
      end
      private_constant :InterruptibleWait
    end
  end
end
