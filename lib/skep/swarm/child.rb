# frozen_string_literal: true

# A node's own view of itself: what the user's work talks to.
#
#   swarm.work do |child|
#     child.ready!                     # able to work: the supervisor counts on it from here on
#     until child.stopping?
#       child.wait(1.0) and next       # returns early at stop or quiet, beats by itself
#       child.busy(for: 120) { … }     # a long job, so that silence isn't taken for a hang
#       child.beat                     # progress: costs nanoseconds
#     end
#   end
#
# It reports and it waits; it decides nothing and owns no process.
# Its methods may be called from any thread.
module Skep
  class Swarm
    class Child
      attr_reader :id #: Integer?, the node's number, 0 to nodes - 1; nil: a spare without a slot
      attr_reader :swarm #: String, the swarm's name
      attr_reader :mold #: Integer, the number of the mold it was forked from
      attr_reader :caution #: InNode::KnownSuspects, what others had in hand when they crashed

      # report: called with a type and facts; what it does with them is the supervisor's side.
      # page_index: its cells; placed: nobody else holds its slot; warm_after: how much one of its
      # threads has done when the process is worth forking from; suspects: as plain data.
      def initialize(id:, swarm:, mold:, page:, layout:, report:, beat_every: 10.0, page_index: id,
                     placed: true, warm_after: nil, suspects: nil, stop_timeout: nil)
        @id, @page_index, @swarm, @mold, @placed = id, page_index, swarm, mold, placed
        @warm_after, @stop_timeout = warm_after, stop_timeout
        @caution = InNode::KnownSuspects.new(suspects, report:)
        @report = report
        @complain_every = beat_every * Health::LivenessPolicy::BEATS * Health::UnhealthyPolicy::SPACING
        prepare_heartbeats(page, layout)
        prepare_stop(beat_every)
        beat
      end

      # Booted and able to work. Called again it changes nothing.
      def ready! #: () -> void
        beat
        return if @ready

        @ready = true
        @report.call("ready", {})
      end

      # The work has what it works on (for Kafka: its partitions), or has lost it.
      def joined!(joined = true, **facts) #: (?bool, **untyped) -> void
        said = outgoing("joined", { "joined" => joined, "facts" => facts }, "joined!")
        beat
        @report.call("joined", said)
      end

      # Waits, beating, until no other process holds this node's slot: a node that is to replace
      # one boots beside it, and must not yet take what only one can have (a static member's place
      # in its group, a lock, a port). True at once for all others; false when it is to stop.
      def take_place #: () -> bool
        @place_wanted = true
        @waiter.until(@own) { @placed }
        !stopping?
      end

      # A sign of progress, written to the shared page without a system call.
      def beat = (@holders.empty? ? @own : heartbeat).beat #: () -> void

      # The same, and which part of what is in hand was just given out; nil: all of it is at work.
      def at(number) #: (Integer?) -> void
        (@holders.empty? ? @own : heartbeat).at(number)
      end

      # Declares that no beat is owed for so many seconds; with a block, until it returns.
      #: (for: Numeric) ?{ () -> untyped } -> untyped
      def busy(for:, &block) = heartbeat.busy(binding.local_variable_get(:for), &block)

      # The child as its work's thread number `thread` sees it, 1 to the work's threads; 0: itself.
      def lane(thread) #: (Integer) -> (Child | InNode::ThreadContext)
        return self if IPC::Messages.whole(thread, "lane takes", most: @threads).zero?

        @lanes[thread] ||= begin
          @heartbeats << (heartbeat = @heartbeat_of.call(thread))
          InNode::ThreadContext.new(self, heartbeat)
        end
      end

      # It can't do its work, for that reason. Told at once; said again and again, or not taken
      # back by a beat or `healthy!`, it gets this node replaced (docs/liveness.md).
      def unhealthy!(reason) = __unhealthy(reason, heartbeat) #: (String) -> void

      # It can do its work again, whatever was said before.
      def healthy! #: () -> void
        @heartbeats.each(&:mark_healthy)
        @report.call("healthy", {}) if @complained_at
        @complained_at = nil
      end

      # Seconds left of the stop_timeout, from the stop on: then the process is killed. nil before.
      #: () -> Float?
      def time_left = @stopped_at && @stop_timeout && (@stopped_at + @stop_timeout - OS.now)

      # What a Kafka source lends the handler that is given this child: Skep::Kafka::Producer's
      # `produce`, `produce_sync` and `flush`. Raises NoProducer everywhere else.
      def producer = @producer || raise(NoProducer) #: () -> untyped

      def beat_every = @waiter.every #: () -> Float, the seconds after which waiting beats

      # Should the work end? True from the stop on.
      def stopping? #: () -> bool
        @stopping ? true : false
      end

      # Is it to stop, and will nobody take its place, since the swarm was scaled down?
      def for_good? = stopping? && @for_good ? true : false #: () -> bool

      # Should the work take nothing new? True from quiet or stop on.
      def quiet? = @quiet || stopping? #: () -> bool

      # Waits so many seconds (for ever if nil).
      # True when it is to stop or be quiet; it returns early then.
      def wait(timeout = nil) = __wait(timeout, heartbeat) #: (?Numeric?) -> bool

      # Waits until one of the IOs is readable and returns those;
      # none at stop, quiet or the timeout.
      #: (Array[IO], ?Numeric?) -> Array[IO]
      def wait_for(ios, timeout = nil) = __wait_for(ios, timeout, heartbeat)

      # Runs at stop, on a thread of its own, while the work is still busy;
      # at once if the stop has come already.
      def on_stop(&block) #: () { () -> void } -> void
        late = @stop_lock.synchronize { @stopping || (@stop_hooks << block && false) }
        guard { block.call } if late
      end

      # Tells the supervisor: an event, a log line and a counter there. Plain data only.
      # What isn't plain is told by its `inspect`; raises ArgumentError where the name, the level or
      # the size (2 MiB as JSON, 32 levels) isn't one.
      def event(name, level: :info, **facts) #: (String | Symbol, ?level: Symbol, **untyped) -> void
        said = { "name" => name, "level" => level, "facts" => facts }
        @report.call("event", outgoing("event", said, "event"))
      end

      # What this node's thread has in hand, kept where the supervisor finds it should the node die.
      # nil: nothing. thread: a worker thread's, which is judged by it only where it says so itself
      # (#lane).
      def in_hand(text, thread: 0) #: (String?, ?thread: Integer) -> void
        thread = IPC::Messages.whole(thread, "in_hand(thread:) takes", most: @threads)
        (thread.zero? ? @own : @heartbeat_of.call(thread)).label(text)
      end

      # Counts so many messages or items as done.
      def count(number = 1, thread: 0) #: (?Integer, ?thread: Integer) -> void
        IPC::Messages.whole(thread, "count(thread:) takes", most: @threads)
        thread.zero? ? __counted(@own.count(number)) : lane(thread).count(number)
      end

      # Facts about the work, shown in `skep status`; docs/work.md says what they may be. Raises
      # ArgumentError for all else.
      def work=(facts) #: (Hash) -> void
        @report.call("work", outgoing("work", { "facts" => facts }, "work="))
      end

      def inspect = "#<Skep::Swarm::Child #{swarm} node=#{id} mold=#{mold}>" #: () -> String

      # The control thread's side: be quiet, or stop.
      def __quiet #: () -> void
        @quiet = true
        @waiter.tell
      end

      def __stop(for_good: false) #: (?for_good: bool) -> void
        @for_good ||= for_good
        return if @stopping

        @stopped_at = OS.now
        hooks = @stop_lock.synchronize { (@stopping = true) && @stop_hooks }
        @waiter.ring
        @report.call("leaving", {})
        Threads::Background.new("stop") { hooks.each { |hook| guard { hook.call } } } if hooks.any?
      end

      def __place #: () -> void
        @placed = true
        @waiter.ring if @place_wanted
      end

      # Its work is to end, and its process to become that mold, over that socket.
      def __become_mold(number, socket) #: (Integer, BasicSocket) -> void
        @calling = [number, socket]
        __stop
      end

      def __calling = @calling #: () -> [Integer, BasicSocket]?

      def leave = @waiter.close #: () -> void, nothing waits here any more

      # The work's side: what `producer` is; nil takes it back.
      def __lend(producer) = @producer = producer #: (untyped) -> void

      # A spare has this slot now, alone: it gets the slot of a dead node only.
      def __assign(id) #: (Integer) -> void
        @id = id
        @placed = true
      end

      # Where C may do what `at` does: IPC::Scoreboard::Heartbeat#spot.
      def __spot = @own.spot #: () -> [Integer, Integer, Integer]?

      def __ready? = @ready ? true : false #: () -> bool

      # A lane's side: whose heartbeat it is.

      # The calling thread beats for that heartbeat from here on; nil: for the node's.
      def __holds(heartbeat) #: (IPC::Scoreboard::Heartbeat?) -> void
        heartbeat ? @holders[Thread.current] = heartbeat : @holders.delete(Thread.current)
      end

      # So much has been done in all by one of its threads.
      def __counted(done) #: (Integer) -> void
        warm if @warm_after && done >= @warm_after
      end

      def __unhealthy(reason, heartbeat) #: (String, IPC::Scoreboard::Heartbeat) -> void
        said = outgoing("unhealthy", { "reason" => reason }, "unhealthy!")
        heartbeat.mark_unhealthy
        now = OS.now
        return if @complained_at && now - @complained_at < @complain_every

        @complained_at = now
        @report.call("unhealthy", said)
      end

      def __wait(timeout, heartbeat) #: (Numeric?, IPC::Scoreboard::Heartbeat) -> bool
        @waiter.wait_for([], timeout, heartbeat)
        quiet?
      end

      #: (Array[IO], Numeric?, IPC::Scoreboard::Heartbeat) -> Array[IO]
      def __wait_for(ios, timeout, heartbeat) = @waiter.wait_for(ios, timeout, heartbeat)

      private

      def outgoing(...) = IPC::Messages::FROM_NODE.outgoing(...)

      def warm
        @warm_after = nil
        @report.call("warm", {})
      end

      # holders: which threads have something in hand for a lane of theirs.
      def prepare_heartbeats(page, layout)
        @threads = layout.threads
        @heartbeat_of = lambda do |thread|
          IPC::Scoreboard::Heartbeat.new(page, layout.of(@page_index, thread:))
        end
        @heartbeats = [@own = @heartbeat_of.call(0)]
        @lanes = {}
        @holders = {}.compare_by_identity
      end

      def heartbeat = @holders.empty? ? @own : @holders[Thread.current] || @own

      def prepare_stop(beat_every)
        @stop_hooks = []
        @stop_lock = Mutex.new
        @waiter = InNode::InterruptibleWait.new(every: beat_every) { stopping? }
      end

      def guard
        yield
      rescue StandardError => e # a user's hook: its failure is told, and the stop goes on
        event(:hook_failed, level: :error, hook: "on_stop", error: IPC::PlainData.error(e))
      end
    end
  end
end
