# frozen_string_literal: true

module Skep
  module Work
    class Map
      # The workers of a map: forks them, waits for their reports and ends, and ends them.
      #
      #   workers = WorkerSet.new(limit, threads)
      #   workers.add { |number, counters, socket| … }    # the block runs in the worker
      #   workers.wait(1.0) { |worker, ended| … }
      #   workers.reap(worker)                            # => its exit status
      #   workers.shut_down(finished: true)
      class WorkerSet
        TERM_GRACE = 1.0  # seconds from TERM to KILL
        EXIT_GRACE = 5.0  # seconds in which a worker without requests must exit
        CLOSE_GRACE = 0.1 # seconds in which a worker must exit after its socket has closed
        private_constant :TERM_GRACE, :EXIT_GRACE, :CLOSE_GRACE

        def initialize(limit, threads)
          @limit = limit
          @workers = []
          @poller = OS::EventLoop::Poller.new
          @counters = SharedCounters.new(limit, threads)
          @fork_hook = Skep.on_fork(child: method(:close_in_child))
        end

        def to_a = @workers

        def full? = @workers.size >= @limit

        # Forks a worker. If the machine has no room for another process, the map continues with
        # those it has: Ruby's own fork would wait for a free process without a limit.
        def add(&run)
          OS::ProcessTree::ForkProbe.check
          number = ((0...@limit).to_a - @workers.map(&:number)).first
          @workers << (worker = WorkerHandle.new(number, @counters))
          start(worker, &run)
          watch(worker)
        rescue Errno::EAGAIN, Errno::ENOMEM, Errno::EMFILE, Errno::ENFILE
          @workers.delete(worker)&.close
          raise if @workers.empty?

          @limit = @workers.size
        end

        # Waits for reports and ends, at most that many seconds; returns false if there were none.
        def wait(seconds)
          events = @poller.wait(seconds)
          events.each do |(worker, ended), _, writable|
            next unless @workers.include?(worker)

            update_watch(worker.tap(&:flush)) if writable
            yield worker, ended
          end
          events.any?
        end

        # Waits until the socket is writable, too, if there is unsent data.
        def update_watch(worker)
          @poller.modify(worker.socket, [worker, false], read: true, write: worker.pending?)
        end

        # The worker has closed its socket: it is about to exit, or is killed.
        def socket_closed(worker)
          @poller.remove(worker.socket)
          return if worker.wait(CLOSE_GRACE)

          reason = "its socket was closed: the block may have called exec, or closed descriptors"
          @counters.record_exit_reason(worker.number, reason)
          worker.signal(:KILL)
        end

        # Reaps a worker that has ended.
        def reap(worker)
          Swarm::IPC::ExitStatus.of(worker.wait(nil))
        ensure
          Thread.handle_interrupt(Object => :never) do
            [worker.socket, worker.pidfd&.to_io].compact.each { |io| @poller.remove(io) }
            remove(worker)
          end
        end

        # Ends and reaps all workers: by end of file, by TERM unless they have finished, at last by
        # KILL.
        def shut_down(finished:)
          @workers.each(&:recover)
          @workers.each(&:end_requests)
          @workers.each { |worker| worker.signal(:TERM) } unless finished
          await_exits(finished ? EXIT_GRACE : TERM_GRACE)
        ensure
          kill
        end

        private

        def kill
          @workers.each { |worker| worker.tap(&:recover).signal(:KILL) }
          await_exits(nil)
        ensure
          close
        end

        # @forking shows close_in_child that the child is a worker of this set.
        def start(worker)
          @forking = Thread.current
          worker.start { |socket| yield worker.number, @counters, socket }
        ensure
          @forking = nil
        end

        def watch(worker)
          @poller.add(worker.socket, [worker, false])
          @poller.add(worker.pidfd.to_io, [worker, true]) if worker.pidfd&.watchable?
        end

        def await_exits(seconds)
          deadline = seconds && (OS.now + seconds)
          @workers.dup.each do |worker|
            left = deadline && [deadline - OS.now, 0].max
            remove(worker) if worker.pid.nil? || worker.wait(left)
          end
        end

        # An exception from another thread (Timeout, Thread#kill) never leaves a closed worker in
        # the list.
        def remove(worker)
          Thread.handle_interrupt(Object => :never) do
            @workers.delete(worker)
            worker.close
          end
        end

        # Runs in every child of the caller. A worker of this set keeps the counters.
        def close_in_child
          @fork_hook.cancel
          @poller.close
          @workers.each(&:close_in_child)
          @counters.close unless @forking == Thread.current
        end

        def close
          @fork_hook.cancel
          @poller.close
          @counters.close
        end
      end
      private_constant :WorkerSet
    end
  end
end
