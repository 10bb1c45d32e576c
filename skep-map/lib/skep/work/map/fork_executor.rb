# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Runs a map in workers. The caller's thread only sends chunks, handles reports and waits.
      #
      #   ForkExecutor.new(block, options, source, collector).run    # => nil, or the Stop
      #
      # It forks a worker when no existing one has room for a chunk, and not before a quarter of the
      # last fork's duration has passed: a map that ends sooner doesn't need another. When run
      # returns or raises, every worker has ended and is reaped.
      class ForkExecutor
        # Seconds that a worker may keep items that an idle one could process.
        STEAL_AFTER = 0.01
        private_constant :STEAL_AFTER

        def initialize(block, options, source, collector)
          @block = block
          @options = options
          @source = source
          @collector = collector
          @returned = []
          @retries = CrashRetries.new
          @fork_at = 0.0
        end

        def run
          return unless @source.more?

          limit = [@options.nodes, @source.size].compact.min
          # An exception from another thread (Timeout, Thread#kill) must not come before @set is
          # assigned: nothing would be shut down.
          Thread.handle_interrupt(Object => :never) do
            @set = WorkerSet.new(limit, @options.threads)
          end
          step until finished?
          finished = true
          @stop
        ensure
          @set&.shut_down(finished:)
        end

        private

        def step
          send_chunks unless @stop
          return fork_worker if fork?

          reported = @set.wait(timeout) { |worker, ended| handle(worker, ended) }
          steal if !reported && steal?
        end

        def workers = @set.to_a

        def finished? = workers.all?(&:idle?) && (@stop ? true : !more?)

        # May wait for the next item.
        def more? = !@returned.empty? || @source.more?

        # Returns true if no chunk is left to be sent; never waits.
        def all_sent? = @source.exhausted? && @returned.empty?

        # Every worker gets a chunk before any gets two.
        def send_chunks
          while (worker = workers.select { |each| room?(each) }.min_by { |each| each.chunks.size })
            chunk = @returned.shift || next_chunk(worker.sizer) or return
            worker.assign(chunk, @source.dump(chunk))
            @set.update_watch(worker) if worker.pending?
          end
        end

        # The last chunks don't wait in a socket while their items take long: the first worker that
        # is ready gets them.
        def room?(worker)
          remaining = @source.remaining
          worker.room?(!remaining.nil? && remaining >= shares)
        end

        # Into how many chunks the last items are divided: two for each thread.
        def shares = @options.nodes * @options.threads * 2

        # Towards the end chunks become smaller, so that all workers end at about the same time.
        def next_chunk(sizer)
          size = sizer.size
          if (remaining = @source.remaining)
            size = [size, [remaining / shares, sizer.min_size].max].min
          end
          @source.take(size)&.tap { |chunk| @collector.started(chunk) }
        end

        def want_worker? = !@stop && !@set.full? && workers.none? { |worker| room?(worker) }

        def fork? = want_worker? && (workers.empty? || OS.now >= @fork_at) && more?

        def fork_worker
          began = OS.now
          parent = Skep.pid
          @set.add do |number, counters, socket|
            WorkerProcess.new(@block, @options, @source, counters:, number:).run(socket, parent:)
          end
          @fork_at = OS.now + ((OS.now - began) / 4)
        end

        # Seconds until there is something to do even if no worker reports.
        def timeout
          return STEAL_AFTER if steal?

          [@fork_at - OS.now, 0].max if want_worker? && !all_sent?
        end

        # Returns true if a worker is idle, or could still be forked, while another has items that
        # it hasn't started, and none are left to be sent.
        def steal?
          return false if @stop || !OS::SharedPage.native? || !all_sent?

          (!@set.full? || workers.any?(&:idle?)) && workers.any?(&:surplus?)
        end

        # Takes unstarted items back and divides them, so that all workers get some.
        def steal
          rests = workers.select(&:surplus?).flat_map(&:withdraw)
          @returned.concat(rests.flat_map { |rest| rest.slices_of([rest.size / shares, 1].max) })
        end

        def handle(worker, ended)
          open = worker.receive { |*report| handle_report(worker, *report) }
          if ended || (!open && worker.pidfd.nil?)
            handle_exit(worker)
          elsif !open
            @set.socket_closed(worker)
          end
        end

        def handle_report(worker, counter, done, kind, nanoseconds, body)
          return if kind == FrameSocket::HELLO

          chunk = worker.completed(counter)
          bytes = body ? body.bytesize : 0
          worker.sizer.record(done, seconds: nanoseconds / 1e9, bytes:)
          return handle_end(chunk, done, kind, body) unless kind == FrameSocket::RESULTS

          collect(chunk, done, body)
        end

        def collect(chunk, done, body)
          @collector.completed(chunk, done, body && Serializer.load_results(body, chunk))
        end

        # The block has raised an exception, which the caller gets, or Stop: then other workers
        # finish the items that they have started.
        def handle_end(chunk, done, kind, body)
          results, value, index = Serializer.load(body)
          collect(chunk, done, results)
          if kind == FrameSocket::RAISED
            raise ItemContext.add(error(value), chunk.item(index), index)
          end

          @stop ||= Stop.new(value)
          workers.each(&:withdraw)
        end

        # Adds the caller's backtrace where the worker's lacks it: its main thread has the caller's
        # frames below its own, its other threads don't.
        def error(dump)
          error = Serializer.load_error(dump)
          return error if @options.threads == 1 || error.frozen?

          error.tap { error.set_backtrace([*error.backtrace, *caller]) }
        end

        # Other workers get its chunks.
        def handle_exit(worker)
          exit = @set.reap(worker)
          @returned.concat(@retries.chunks_of(worker, exit)) unless @stop
        end

        # Decides what happens to the chunks of a worker that has died. The item that it processed
        # may kill one worker, not two, and none if that has recorded that it left on purpose.
        #
        #   retries = CrashRetries.new
        #   retries.chunks_of(worker, exit)   # => [Chunk], to be processed again; or NodeDied
        class CrashRetries
          TOLERATED = 1
          private_constant :TOLERATED

          def initialize
            @deaths = Hash.new(0)
          end

          # An item that was in progress is isolated in a chunk of its own. If the worker died
          # before it started any, the first item of its first chunk is suspected.
          def chunks_of(worker, exit)
            # Those whose items have all been withdrawn are empty.
            chunks = worker.chunks.select { |chunk| chunk.size.positive? }
            suspects = worker.last_started
            suspects = chunks.first(1).map(&:from) if suspects.empty?
            suspects.each { |index| count_death(worker, index, exit) }
            chunks.flat_map do |chunk|
              index = suspects.find { |suspect| chunk.include?(suspect) }
              index ? chunk.isolate(index) : [chunk]
            end
          end

          private

          def count_death(worker, index, exit)
            reason = worker.exit_reason
            deaths = @deaths[index] += 1
            return if deaths <= TOLERATED && !reason&.start_with?(WorkerProcess::LEFT_BY)

            item = worker.chunks.find { |chunk| chunk.include?(index) }.item(index)
            raise NodeDied.new(item:, index:, pid: worker.pid, exit:, deaths:, reason:)
          end
        end
      end
      private_constant :ForkExecutor
    end
  end
end
