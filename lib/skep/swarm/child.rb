# frozen_string_literal: true

# The node as an object for the user's work.
#
#   swarm.work do |child|
#     child.ready!                     # reports that the node can work
#     until child.stopping?
#       child.wait(1.0) and next       # beats while it waits, returns early at stop or quiet
#       child.busy(for: 120) { … }     # a long job that must not be considered a hang
#       child.beat                     # reports progress; takes nanoseconds
#     end
#   end
#
# It reports to the supervisor and waits for it. Its methods may be called from any thread.
module Skep
  class Swarm
    class Child
      attr_reader :id #: Integer?, the node's number, 0 to nodes - 1; nil: a spare without a slot
      attr_reader :swarm #: String, the swarm's name
      attr_reader :mold #: Integer, the number of the mold it was forked from

      # report: sends a message to the supervisor. page_index: of the node's cells on the page.
      # placed: false while another process holds the slot. warm_after: items that one thread must
      # process before the node may become a mold. suspects: CrashSuspects as plain data.
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

      # Reports that the node has booted and can work. Only the first call has an effect.
      def ready! #: () -> void
        beat
        return if @ready

        @ready = true
        @report.call("ready", {})
      end

      # Reports that the work was assigned what it processes (for Kafka: partitions), or lost it.
      def joined!(joined = true, **facts) #: (?bool, **untyped) -> void
        fields = outgoing("joined", { "joined" => joined, "facts" => facts }, "joined!")
        beat
        @report.call("joined", fields)
      end

      # Waits until no other process holds this node's slot. A replacement boots beside the node
      # that it replaces, and can't yet take what only one process can have: a lock, a port, the
      # membership of a static group member. All other nodes don't wait. Returns false if the node
      # is stopping.
      def take_place #: () -> bool
        @place_wanted = true
        @waiter.until(@own) { @placed }
        !stopping?
      end

      # Reports progress. Writes to the shared page, without a system call.
      def beat = (@holders.empty? ? @own : heartbeat).beat #: () -> void

      # Reports progress, and which part of what is in flight is being processed; nil: all of it.
      def at(number) #: (Integer?) -> void
        (@holders.empty? ? @own : heartbeat).at(number)
      end

      # Declares that no beat is due for that many seconds; with a block, only until it returns.
      #: (for: Numeric) ?{ () -> untyped } -> untyped
      def busy(for:, &block) = heartbeat.busy(binding.local_variable_get(:for), &block)

      # Returns the child for worker thread 1, 2 …; for 0 this child.
      def lane(thread) #: (Integer) -> (Child | Processes::ThreadContext)
        return self if IPC::Messages.whole(thread, "lane takes", most: @threads).zero?

        @lanes[thread] ||= begin
          @heartbeats << (heartbeat = @heartbeat_of.call(thread))
          Processes::ThreadContext.new(self, heartbeat)
        end
      end

      # Reports that the node can't work, and why. The supervisor replaces a node that repeats this
      # report, or that neither beats nor reports `healthy!` afterwards (docs/liveness.md).
      def unhealthy!(reason) = __unhealthy(reason, heartbeat) #: (String) -> void

      # Reports that the node can work again.
      def healthy! #: () -> void
        @heartbeats.each(&:mark_healthy)
        @report.call("healthy", {}) if @complained_at
        @complained_at = nil
      end

      # Returns the seconds until stop_timeout, when the process is killed; nil before the stop.
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

      def beat_every = @waiter.every #: () -> Float, seconds between two beats while waiting

      # Returns true once the node is stopping. The work must end.
      def stopping? #: () -> bool
        @stopping ? true : false
      end

      # Returns true if the node is stopping for good: the swarm was scaled down, and no other node
      # takes its slot.
      def for_good? = stopping? && @for_good ? true : false #: () -> bool

      # Returns true once the node is quiet or stopping. The work must take nothing new.
      def quiet? = @quiet || stopping? #: () -> bool

      # Waits for that many seconds (nil: without limit). At stop or quiet it returns true early.
      def wait(timeout = nil) = __wait(timeout, heartbeat) #: (?Numeric?) -> bool

      # Waits until an IO is readable, and returns the readable ones; [] at stop, quiet or timeout.
      #: (Array[IO], ?Numeric?) -> Array[IO]
      def wait_for(ios, timeout = nil) = __wait_for(ios, timeout, heartbeat)

      # Runs the block on a separate thread when the stop begins, while the work is still busy. Runs
      # it at once if the node is stopping already.
      def on_stop(&block) #: () { () -> void } -> void
        late = @lock.synchronize { @stopping || (@stop_hooks << block && false) }
        guard { block.call } if late
      end

      # Publishes an event: the supervisor logs and counts it. Facts that aren't plain data are sent
      # as their `inspect`. Raises ArgumentError for an invalid name or level, and for facts that
      # are too large (2 MiB, 32 levels).
      def event(name, level: :info, **facts) #: (String | Symbol, ?level: Symbol, **untyped) -> void
        fields = { "name" => name, "level" => level, "facts" => facts }
        @report.call("event", outgoing("event", fields, "event"))
      end

      # Writes what is in flight to the shared page, where the supervisor reads it if the node dies.
      # nil: nothing is in flight. thread: the worker thread that processes it. Its hangs are
      # detected only if `in_hand` is called on its lane.
      def in_hand(text, thread: 0) #: (String?, ?thread: Integer) -> void
        thread = IPC::Messages.whole(thread, "in_hand(thread:) takes", most: @threads)
        (thread.zero? ? @own : @heartbeat_of.call(thread)).label(text)
      end

      # Counts messages or items as done.
      def count(number = 1, thread: 0) #: (?Integer, ?thread: Integer) -> void
        IPC::Messages.whole(thread, "count(thread:) takes", most: @threads)
        thread.zero? ? __counted(@own.count(number)) : lane(thread).count(number)
      end

      # Sets the facts that `skep status` shows (docs/work.md). Raises ArgumentError for invalid
      # facts.
      def work=(facts) #: (Hash) -> void
        @report.call("work", outgoing("work", { "facts" => facts }, "work="))
      end

      def inspect = "#<Skep::Swarm::Child #{swarm} node=#{id} mold=#{mold}>" #: () -> String

      # Internal: called by the control thread, then by sources and lanes.

      def __quiet #: () -> void
        @quiet = true
        @waiter.notify
      end

      def __stop(for_good: false, all: false) #: (?for_good: bool, ?all: bool) -> void
        @for_good ||= for_good
        @all_stop ||= all
        return if @stopping

        @stopped_at = OS.now
        hooks = @lock.synchronize { (@stopping = true) && @stop_hooks }
        @waiter.wake
        @report.call("leaving", {})
        Threads::Background.new("stop") { hooks.each { |hook| guard { hook.call } } } if hooks.any?
      end

      # In a stop of the whole swarm: waits, so many seconds at most, until all nodes call this.
      def __await_other_nodes(seconds) #: (Float) -> void
        @all_finished = Threads::Inbox.new
        @report.call("finished", {})
        busy(for: seconds + 1) { @all_finished.pop(timeout: seconds) }
      end

      def __place #: () -> void
        @placed = true
        @waiter.wake if @place_wanted
      end

      # Stops the work. Then the process becomes the mold with that number, and the socket becomes
      # its channel.
      def __become_mold(number, socket) #: (Integer, BasicSocket) -> void
        @mold_order = [number, socket]
        __stop
      end

      def __all_stop? = @all_stop ? true : false #: () -> bool, the whole swarm stops
      def __all_finished = (@all_stop = false) || @all_finished&.push(true) #: () -> void
      def leave = @waiter.close #: () -> void, the work has ended
      def __ready? = @ready ? true : false #: () -> bool
      def __mold_order = @mold_order #: () -> [Integer, BasicSocket]?
      def __lend(producer) = @producer = producer #: (untyped) -> void

      # A spare takes this slot. No other process holds it: spares only replace dead nodes.
      def __assign(id) #: (Integer) -> void
        @id = id
        @placed = true
      end

      # Returns the address for C code that does the same as `at` (IPC::Scoreboard::Heartbeat#spot).
      def __spot = @own.spot #: () -> [Integer, Integer, Integer]?

      # From now on the calling thread beats for this heartbeat; nil: for the node's.
      def __holds(heartbeat) #: (IPC::Scoreboard::Heartbeat?) -> void
        heartbeat ? @holders[Thread.current] = heartbeat : @holders.delete(Thread.current)
      end

      # done: all items that one thread has processed.
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
      rescue StandardError => e # a user's hook: its failure is reported, and the stop continues
        event(:hook_failed, level: :error, hook: "on_stop", error: IPC::PlainData.error(e))
      end

      # Waits for IOs, a deadline or a wake-up, and ticks the heartbeat meanwhile. Any number of
      # threads and fibers may wait at once.
      #
      #   waiter = InterruptibleWait.new(every: 10.0) { stopping? }   # true ends all waits
      #   waiter.wait_for([io], 5.0, heartbeat)   # => [io]; [] once notified, or at the deadline
      #   waiter.until(heartbeat) { placed? }     # calls the block at each wake-up
      #   waiter.notify    # ends the present wait_for of each thread, or its next one
      #   waiter.wake      # lets each `until` call its block again
      #
      # Each wake-up closes its own pipe, and waits that have checked their condition use the next
      # pipe. So a wait whose thread can't run, or was killed, doesn't keep other waits awake.
      class InterruptibleWait
        # The pipe of one wake-up, and the number of waits that use it. The last wait closes it.
        class WakePipe
          attr_reader :reader #: IO

          def initialize #: () -> void
            @reader, @writer = OS.pipe
            @waits = 0
          end

          def wake = @writer.close #: () -> void
          def woken? = @writer.closed? #: () -> bool
          def enter = tap { @waits += 1 } #: () -> WakePipe

          def leave = (@waits -= 1) && retire #: () -> void

          # Called when new waits use the next pipe.
          def retire = woken? && @waits.zero? && @reader.close #: () -> void
          def close = [@reader, @writer].each(&:close) #: () -> void
          def closed? = @reader.closed? #: () -> bool
        end
        private_constant :WakePipe

        attr_reader :every #: Float, seconds between two ticks while waiting

        def initialize(every:, &over) #: (every: Float) { () -> bool } -> void
          @every = every
          @over = over
          @pipe = WakePipe.new
          @lock = Mutex.new
          @notified = 0
          @key = :"skep_notified_#{object_id}"
        end

        def wake #: () -> void
          @lock.synchronize do
            @pipe.wake
            replace_pipe unless @pipe.closed?
          end
        end

        def notify #: () -> void
          @notified += 1
          wake
        end

        def close = @lock.synchronize { @pipe.close } #: () -> void

        #: (Array[IO], Numeric?, IPC::Scoreboard::Heartbeat) -> Array[IO]
        def wait_for(ios, timeout, heartbeat) = wait(ios, timeout, heartbeat) { notified? }

        # Waits until the block returns true, or waiting is over.
        #: (IPC::Scoreboard::Heartbeat, ?Numeric?) { () -> bool } -> void
        def until(heartbeat, timeout = nil, &block) = wait([], timeout, heartbeat, &block)

        private

        def wait(ios, timeout, heartbeat)
          deadline = timeout ? OS.now + timeout : Float::INFINITY
          found = []
          pipe = nil
          Kernel.loop do
            pipe = current(pipe)
            return [] if @over.call || yield
            return found if found.any?

            heartbeat.tick
            readable = readable([pipe.reader, *ios], (deadline - OS.now).clamp(0, every)) || []
            return readable if readable.any? && !readable.include?(pipe.reader)
            return [] if readable.empty? && OS.now >= deadline

            found = readable - [pipe.reader]
          end
        ensure
          @lock.synchronize { pipe&.leave }
          heartbeat.tick # the next item has the full timeout
        end

        # Returns true once for each thread, or fiber, after a notification.
        def notified?
          notified = @notified
          return false if Thread.current[@key].to_i == notified

          Thread.current[@key] = notified
          true
        end

        # Returns the pipe of the next wake-up, in place of the pipe that the wait has used.
        def current(pipe)
          @lock.synchronize do
            replace_pipe if @pipe.woken?
            next pipe if pipe == @pipe

            pipe&.leave
            @pipe.enter
          end
        end

        # Without a free descriptor the pipe stays closed, and waits check their condition in a loop
        # until there is one. So no wake-up is missed.
        def replace_pipe
          woken, @pipe = @pipe, WakePipe.new
          woken.retire
        rescue Errno::EMFILE, Errno::ENFILE
          nil
        end

        # Waits for a single IO with IO#wait_readable, which uses the Fiber scheduler. A scheduler
        # that doesn't implement IO.select would block all its fibers.
        def readable(ios, seconds)
          return IO.select(ios, nil, nil, seconds)&.first unless ios.one?

          ios if ios.first.wait_readable(seconds)
        end
      end
      private_constant :InterruptibleWait
    end
  end
end
