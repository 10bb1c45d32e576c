# frozen_string_literal: true

# The node as an object for the user's work.
#
#   swarm.work do |node|
#     until node.stopping?            # the first beat or wait reports that the node is ready
#       node.wait(1.0) and next       # beats while it waits, returns early at stop or quiet
#       node.busy(for: 120) { … }     # a long job that must not be considered a hang
#       node.beat                     # reports progress; takes nanoseconds
#     end
#   end
#
# It reports to the supervisor and waits for it. Its methods may be called from any thread.
module Skep
  class Swarm
    class Node
      attr_reader :id # the node's number, 0 to nodes - 1; nil: a spare without a slot
      attr_reader :swarm # the swarm's name
      attr_reader :mold # the number of the mold it was forked from
      attr_reader :work_name # nil: a spare without a slot
      attr_reader :revision # of the code that it runs; nil: not known

      # report: sends a message to the supervisor. page_index: of the node's cells on the page.
      # placed: false while another process holds the slot. warm_after: items that one thread must
      # process before the node may become a mold. suspects: CrashSuspects as plain data. on_error:
      # blocks of Swarm#on_error. pages: IOs of IPC::ProgressPages.
      def initialize(id:, swarm:, mold:, page:, layout:, report:, beat_every: 10.0, page_index: id,
                     placed: true, warm_after: nil, suspects: nil, stop_timeout: nil, on_error: [],
                     boot_timeout: nil, pages: [], work_name: nil, revision: nil)
        @revision = revision
        @id, @page_index, @swarm, @mold, @placed = id, page_index, swarm, mold, placed
        @warm_after, @stop_timeout, @suspects = warm_after, stop_timeout, suspects
        @report, @on_error = report, on_error
        take_pages(pages)
        @work_name, @boot_timeout = work_name, boot_timeout
        limit_boot
        @complain_every = complain_every(beat_every)
        @threads = layout.threads
        @handler_records = -> { IPC::Scoreboard::HandlerRecords.new(page, layout, @page_index) }
        @heartbeat_of = lambda do |thread|
          IPC::Scoreboard::Heartbeat.new(page, layout.of(@page_index, thread:))
        end
        @heartbeats = [@own = @heartbeat_of.call(0)]
        @thread_contexts = {}
        @holders = {}.compare_by_identity # threads that have something in flight for a thread
        @stop_hooks = []
        @lock = Mutex.new
        @waiter = Processes::InterruptibleWait.new(every: beat_every) { stopping? }
        beat
      end

      # Reports that the node has booted and can work. Only the first call has an effect. In a plain
      # block the first `beat`, `wait` or `wait_for` does the same.
      def ready!
        @ready_implied = false
        beat
        return if @ready

        @ready = true
        @report.call("ready", {})
      end

      # Reports that the work was assigned what it processes, such as partitions, or lost it.
      def assigned!(assigned = true, **facts)
        fields = IPC::Arguments.assigned(assigned, facts)
        beat
        @report.call("assigned", fields)
      end

      # Waits until no other process holds this node's slot. A replacement boots beside the node
      # that it replaces, and can't yet take what only one process can have: a lock, a port, the
      # membership of a static group member. All other nodes don't wait. Returns false if the node
      # is stopping.
      def wait_for_predecessor
        @place_wanted = true
        @waiter.until(@own) { @placed }
        !stopping?
      end

      # Reports progress. Writes to the shared page, without a system call.
      def beat
        return ready! if @ready_implied

        (@holders.empty? ? @own : heartbeat).beat
      end

      # Reports progress, and which part of what is in flight is being processed; nil: all of it.
      def current_item(number)
        (@holders.empty? ? @own : heartbeat).current_item(number)
      end

      # Declares that no beat is due for that many seconds; with a block, only until it returns.
      def busy(for:, &block) = heartbeat.busy(binding.local_variable_get(:for), &block)

      # Returns the node for worker thread 1, 2 …; for 0 this node.
      def thread(thread)
        return self if IPC::Arguments.whole(thread, "thread takes", most: @threads).zero?

        @thread_contexts[thread] ||= begin
          @heartbeats << (heartbeat = @heartbeat_of.call(thread))
          Processes::ThreadContext.new(self, heartbeat)
        end
      end

      # Reports that the node can't work, and why. The supervisor replaces a node that repeats this
      # report, or that neither beats nor reports `healthy!` afterwards (docs/guides/liveness.md).
      def unhealthy!(reason) = __unhealthy(reason, heartbeat)

      # Reports that the node can work again.
      def healthy!
        @heartbeats.each(&:mark_healthy)
        @report.call("healthy", {}) if @complained_at
        @complained_at = nil
      end

      # Returns the seconds from a stop until the process is killed.
      def stop_timeout = @stop_timeout

      # Returns the seconds until stop_timeout, when the process is killed; nil before the stop.
      def time_left
        @stopped_at && @stop_timeout && (@stopped_at + @stop_timeout - OS.now)
      end

      # Returns the producer that a source lends to the handler of this node. Raises NoProducer
      # elsewhere.
      def producer = @producer || raise(NoProducer)

      # Returns what other nodes had in flight when they crashed. A work that calls this clears them
      # itself; otherwise an item is cleared once a node has outlived it.
      def crash_suspects
        @report.call("clears_suspects", {}) unless @clears_suspects
        @clears_suspects = true
        __crash_suspects
      end

      def beat_every = @waiter.every # seconds between two beats while waiting

      # Returns true once the node is stopping. The work must end.
      def stopping?
        @stopping ? true : false
      end

      # Returns true if the node is stopping for good: the swarm was scaled down, and no other node
      # takes its slot.
      def scaling_down? = stopping? && @scaling_down ? true : false

      # Returns true while the node is quiet or stopping. The work must take nothing new.
      def quiet?
        @told_of_quiet = @quiet ? true : false # in any of its threads: the work may end for it
        @told_of_quiet || stopping?
      end

      # Waits for that many seconds (nil: without limit). At stop or quiet it returns true early,
      # when quiet ends it returns false early.
      def wait(timeout = nil) = __wait(timeout, ready_heartbeat)

      # Waits until an IO is readable, and returns the readable ones; [] at stop, when quiet begins
      # or ends, and at the timeout.
      def wait_for(ios, timeout = nil) = __wait_for(ios, timeout, ready_heartbeat)

      # Runs the block on a separate thread when the stop begins, while the work is still busy. Runs
      # it at once if the node is stopping already.
      def on_stop(&block)
        late = @lock.synchronize { @stopping || (@stop_hooks << block && false) }
        guard("on_stop") { block.call } if late
      end

      # Publishes an event: the supervisor logs and counts it. Facts that aren't plain data are sent
      # as their `inspect`. Raises ArgumentError for an invalid name or level, and for facts that
      # are too large (2 MiB, 32 levels).
      def event(name, level: :info, **facts)
        @report.call("event", IPC::Arguments.event(name, level, facts))
      end

      # Writes what is in flight to the shared page, where the supervisor reads it if the node dies.
      # nil: nothing is in flight. thread: the worker thread that processes it. Its hangs are
      # detected only if `in_flight` is called on its object (`thread`).
      def in_flight(text, thread: 0)
        thread = IPC::Arguments.whole(thread, "in_flight(thread:) takes", most: @threads)
        heartbeat = thread.zero? ? @own : (@labels ||= {})[thread] ||= @heartbeat_of.call(thread)
        __in_flight_next(heartbeat, text)
        return @own.in_flight(text) if thread.zero? # CrashAttribution must know since when it is

        heartbeat.label(text)
      end

      # Counts messages or items as done.
      def processed(number = 1, thread: 0)
        IPC::Arguments.whole(thread, "processed(thread:) takes", most: @threads)
        thread.zero? ? __counted(@own.processed(number)) : thread(thread).processed(number)
      end

      # Sets the facts that `skep status` shows (docs/reference/node.md). Raises ArgumentError for
      # invalid facts.
      def work=(facts)
        @report.call("work", IPC::Arguments.work(facts))
      end

      def inspect = "#<Skep::Swarm::Node #{swarm} node=#{id} mold=#{mold}>"

      # Internal: called by the control thread, then by sources and thread objects.

      # As `work=`, for a thread without a caller who could mend the facts: if they are too large,
      # elements of the list under that key are left out, and counted as KEY_left_out. Returns false
      # if they aren't sent, as when the channel is full.
      def __report_work(facts, list:)
        @report.call("work", { "facts" => IPC::WorkFacts.cut(facts, list) })
      end

      def __crash_suspects
        @lock.synchronize do
          @crash_suspects ||= Processes::KnownSuspects.new(@suspects, report: @report)
        end
      end

      # Called before that heartbeat gets another item in flight: this process has outlived the one
      # that it had, whatever came of it.
      def __in_flight_next(heartbeat, text)
        return if @clears_suspects || (@crash_suspects.nil? && @suspects.to_a.empty?)

        text = IPC::Arguments.text(text, "in_flight takes").to_s
        name = text.byteslice(0, OS::SharedPage::BLOB).scrub("") # as on the page
        outlived = (@suspected ||= {}.compare_by_identity)[heartbeat]
        return if outlived&.any? { |one| one.in_flight == name } # it says so once more

        __crash_suspects.clear(@suspected.delete(heartbeat)) if outlived
        found = __crash_suspects.select { |one| one.in_flight == name }
        @suspected[heartbeat] = found if found.any?
      end

      def __quiet
        @quiet = true
        @waiter.notify
      end

      def __resume
        @quiet = false
        @waiter.notify
      end

      # The work ends because of a quiet, although that may be over: the server in it can't take new
      # work again.
      def __end_for_quiet = @ends_for_quiet = true

      # Returns true if the work, when it ended, had last been told that the node is quiet: it isn't
      # done, and a process must follow at `resume`.
      def __ended_for_quiet? = @ends_for_quiet || @told_of_quiet ? true : false

      def __stop(scaling_down: false, all: false)
        @scaling_down ||= scaling_down
        @all_stop = @others_stop = true if all
        return if @stopping

        @stopped_at = OS.now
        hooks = @lock.synchronize { (@stopping = true) && @stop_hooks }
        @waiter.wake
        @report.call("leaving", {})
        return if hooks.empty?

        Threads::Background.new("stop") do
          hooks.each { |hook| guard("on_stop") { hook.call } }
        end
      end

      # In a stop of the whole swarm: waits, so many seconds at most, until all nodes call this.
      def __await_other_nodes(seconds)
        @all_finished = Threads::Inbox.new
        @report.call("finished", {})
        busy(for: seconds + 1) { @all_finished.pop(timeout: seconds) }
      end

      def __place(pages = [])
        take_pages(pages)
        @placed = true
        @waiter.wake if @place_wanted
      end

      # Stops the work. Then the process becomes the mold with that number, and the socket becomes
      # its channel.
      def __become_mold(number, socket)
        @mold_order = [number, socket]
        __stop
      end

      def __all_stop? = @all_stop ? true : false # the whole swarm stops
      def __others_to_await? = @others_stop ? true : false # until all of them have finished
      def __all_finished = (@others_stop = false) || @all_finished&.push(true)

      # The work has ended.
      def leave
        @waiter.close
        @progress_pages&.close
      end

      # The pages on which the work notes how far it is; nil: it has none, or not yet.
      def __progress_pages = @progress_pages
      def __ready? = @ready ? true : false

      # Returns the seconds until boot_timeout, when a process that isn't ready is killed; nil once
      # it is ready.
      def __boot_time_left = (@boot_deadline - OS.now unless @ready || @boot_deadline.nil?)

      # The first node with this kind of work has that id.
      def __work_begins_at(id) = @first_id = id
      def __first_of_its_work? = id == @first_id.to_i

      def __imply_ready = @ready_implied = !@ready # for a plain block
      def __mold_order = @mold_order
      def __lend(producer) = @producer = producer

      # A spare is to do this work, which has its own options.
      def __take_work(name, beat_every:, stop_timeout:, boot_timeout:)
        @work_name, @stop_timeout, @boot_timeout = name, stop_timeout, boot_timeout
        @waiter.every = beat_every
        @complain_every = complain_every(beat_every)
      end

      # A spare takes this slot. No other process holds it: spares only replace dead nodes. It may
      # have waited for hours, and has as long to boot as another process.
      def __assign(id, pages = [])
        @id = id
        limit_boot
        take_pages(pages)
        @placed = true
      end

      # Another process is to take this one's place. why: "unfit" or "another_process". event and
      # facts: what is published of an unfit one.
      def __replace_process(why, event:, **facts)
        @report.call("replace", { "why" => why, "event" => event,
                                  "facts" => IPC::PlainData.of(facts) })
      end

      def __handler_records = @handler_records.call

      # Returns the address for C code that does the same as `current_item` (IPC::Scoreboard::Heartbeat#spot).
      def __spot = @own.spot

      # From now on the calling thread beats for this heartbeat; nil: for the node's.
      def __holds(heartbeat)
        heartbeat ? @holders[Thread.current] = heartbeat : @holders.delete(Thread.current)
      end

      # Returns at which line of the application each thread stands that has something in flight,
      # as pairs of its number and the line; 0: the main thread.
      def __lines
        threads = @holders.to_a.map { |thread, heartbeat| [heartbeat.cell - @own.cell, thread] }
        [[0, Thread.main], *threads].filter_map do |number, thread|
          line = ErrorPlace.of_thread(thread)
          [number, line] if line
        end
      end

      # A failed attempt: calls the blocks of Swarm#on_error. context: plain values.
      def __failed(error, **context)
        return if @on_error.empty?

        context = { swarm:, work: work_name, node: id, mold:, pid: Process.pid, **context }
        @on_error.each { |block| guard("on_error") { block.call(error, context) } }
      end

      # done: all items that one thread has processed.
      def __counted(done)
        return unless @warm_after && done >= @warm_after

        @warm_after = nil
        @report.call("warm", {})
      end

      def __unhealthy(reason, heartbeat)
        fields = IPC::Arguments.unhealthy(reason)
        heartbeat.mark_unhealthy
        now = OS.now
        return if @complained_at && now - @complained_at < @complain_every

        @complained_at = now
        @report.call("unhealthy", fields)
        nil
      end

      def __wait(timeout, heartbeat)
        quiet = @waiter.wait_for([], timeout, heartbeat) && (@quiet || stopping?) ? true : false
        @told_of_quiet = quiet && !stopping?
        quiet
      end

      def __wait_for(ios, timeout, heartbeat) = @waiter.wait_for(ios, timeout, heartbeat)

      private

      def complain_every(beat_every)
        beat_every * Health::LivenessPolicy::BEATS * Health::UnhealthyReports::SPACING
      end

      def limit_boot = @boot_deadline = @boot_timeout && (OS.now + @boot_timeout)

      def take_pages(ios)
        @progress_pages ||= IPC::ProgressPages.open(ios)
      end

      def ready_heartbeat
        ready! if @ready_implied
        heartbeat
      end

      def heartbeat = @holders.empty? ? @own : @holders[Thread.current] || @own

      def guard(hook)
        yield
      rescue *Processes::HOOK_ERRORS => e # a user's block: reported, and skep continues
        event(:hook_failed, level: :error, hook:, error: IPC::PlainData.error(e),
                            at: ErrorPlace.of(e))
      end
    end
  end
end
