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
      attr_reader :id #: Integer, the node's number, 0 to nodes - 1
      attr_reader :swarm #: String, the swarm's name
      attr_reader :mold #: Integer, the number of the mold it was forked from
      attr_reader :beat_every #: Float, the seconds after which waiting beats

      # report: called with a type and facts; what it does with them is the supervisor's side.
      # slot: its cells; placed: nobody else holds its seat; warm_after: how much one of its threads
      # has done when the process is worth forking from.
      def initialize(id:, swarm:, mold:, page:, cells:, report:, beat_every: 10.0, slot: id,
                     placed: true, warm_after: nil)
        @id, @slot, @swarm, @mold, @placed = id, slot, swarm, mold, placed
        @warm_after = warm_after
        @page, @cells, @cell = page, cells, cells.of(slot)
        @report = report
        @beat_every = beat_every
        prepare_stop
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
        beat
        @report.call("joined", { "joined" => joined, "facts" => facts })
      end

      # Waits, beating, until no other process holds this node's seat: a node that is to replace
      # one boots beside it, and must not yet take what only one can have (a static member's place
      # in its group, a lock, a port). True at once for all others; false when it is to stop.
      def take_place #: () -> bool
        @place_wanted = true
        until @placed || stopping?
          beat
          @wake.read_nonblock(64, exception: false) if readable([@wake], @beat_every)
        end
        !stopping?
      end

      # A sign of progress, written to the shared page without a system call.
      def beat = @page.beat(@cell) #: () -> void

      # Declares that no beat is owed for so many seconds; with a block, until it returns.
      def busy(for:) #: (for: Numeric) ?{ () -> untyped } -> untyped
        seconds = binding.local_variable_get(:for)
        @page.set(@cell, Cells::BUSY_UNTIL, ((OS.now + seconds) * 1e9).to_i)
        return unless block_given?

        begin
          yield
        ensure
          @page.set(@cell, Cells::BUSY_UNTIL, 0)
          beat
        end
      end

      # Should the work end? True from the stop on.
      def stopping? = @stopping ? true : false #: () -> bool

      # Should the work take nothing new? True from quiet or stop on.
      def quiet? = @quiet || stopping? #: () -> bool

      # Waits so many seconds (for ever if nil).
      # True when it is to stop or be quiet; it returns early then.
      def wait(timeout = nil) #: (?Numeric?) -> bool
        wait_for([], timeout)
        quiet?
      end

      # Waits until one of the IOs is readable and returns those;
      # none at stop, quiet or the timeout.
      def wait_for(ios, timeout = nil) #: (Array[IO], ?Numeric?) -> Array[IO]
        deadline = timeout && (OS.now + timeout)
        until stopping?
          beat
          left = deadline ? [deadline - OS.now, 0].max : @beat_every
          readable = readable([@wake, *ios], [left, @beat_every].min)
          return readable - [@wake] if readable && !woken(readable)
          return [] if readable || (deadline && OS.now >= deadline)
        end
        []
      end

      # Runs at stop, on a thread of its own, while the work is still busy;
      # at once if the stop has come already.
      def on_stop(&block) #: () { () -> void } -> void
        late = @stop_lock.synchronize { @stopping || (@stop_hooks << block && false) }
        guard { block.call } if late
      end

      # Tells the supervisor: an event, a log line and a counter there. Plain data only.
      def event(name, level: :info, **facts) #: (String | Symbol, ?level: Symbol, **untyped) -> void
        @report.call("event", { "name" => name, "level" => level, "facts" => facts })
      end

      # What this node's thread has in hand, kept where the supervisor finds it should the node die.
      # nil: nothing.
      def in_hand(text, thread: 0) #: (String?, ?thread: Integer) -> void
        @page.write(@cells.of(@slot, thread:), text.to_s.byteslice(0, OS::Page::BLOB).scrub(""))
      end

      # Counts so many messages or items as done.
      def count(number = 1, thread: 0) #: (?Integer, ?thread: Integer) -> void
        done = @page.add(@cells.of(@slot, thread:), Cells::DONE, number)
        beat
        warm if @warm_after && done >= @warm_after
      end

      # Facts about the work, shown in `skep status`.
      def work=(facts) #: (Hash) -> void
        @report.call("work", { "facts" => facts })
      end

      def inspect = "#<Skep::Swarm::Child #{swarm} node=#{id} mold=#{mold}>" #: () -> String

      # The control thread's side: be quiet, or stop.
      def __quiet #: () -> void
        @quiet = true
        @waker.write_nonblock("q", exception: false)
      end

      def __stop #: () -> void
        return if @stopping

        hooks = @stop_lock.synchronize { (@stopping = true) && @stop_hooks }
        @waker.write_nonblock("s", exception: false)
        Threads::Background.new("stop") { hooks.each { |hook| guard { hook.call } } } if hooks.any?
      end

      def __place #: () -> void
        @placed = true
        @waker.write_nonblock("p", exception: false) if @place_wanted
      end

      # Its work is to end, and its process to become that mold, over that socket.
      def __become_mold(number, socket) #: (Integer, BasicSocket) -> void
        @calling = [number, socket]
        __stop
      end

      def __calling = @calling #: () -> [Integer, BasicSocket]?

      def leave = [@wake, @waker].each(&:close) #: () -> void

      def __ready? = @ready ? true : false #: () -> bool

      private

      def warm
        @warm_after = nil
        @report.call("warm", {})
      end

      def prepare_stop
        @stop_hooks = []
        @stop_lock = Mutex.new
        @wake, @waker = IO.pipe
      end

      # One IO alone is waited for through a Fiber scheduler, where there is one: not every
      # scheduler knows IO.select, which would hold up all of its fibers.
      def readable(ios, seconds)
        return IO.select(ios, nil, nil, seconds)&.first unless ios.one?

        ios if ios.first.wait_readable(seconds)
      end

      # Was it only the wake-up?
      # A quiet is told once, so that waiting on goes on waiting; a stop stays told.
      def woken(readable)
        return false unless readable.include?(@wake)

        @wake.read_nonblock(64, exception: false) unless stopping?
        true
      end

      def guard
        yield
      rescue StandardError => e # a user's hook: its failure is told, and the stop goes on
        event(:hook_failed, level: :error, hook: "on_stop", error: "#{e.class}: #{e.message}")
      end
    end
  end
end
