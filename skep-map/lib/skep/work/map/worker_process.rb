# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Runs inside a worker, from the fork to exit!.
      #
      #   WorkerProcess.new(block, options, source, counters:, number:).run(socket, parent:)
      #
      # `run` never returns. The main thread reads requests; with more than one thread, other
      # threads process them. The worker ends when the parent closes its end of the socket or dies,
      # or by a signal.
      class WorkerProcess
        SIGNALS = %w[INT TERM HUP QUIT ALRM USR1 USR2 CHLD TSTP TTIN TTOU CONT WINCH].freeze
        FAILED = 1
        LEFT_BY = "left by " # begins an exit reason after which the item isn't retried
        private_constant :SIGNALS, :FAILED

        def initialize(block, options, source, counters:, number:)
          @source = source
          @counters = counters
          @number = number
          @runners = Array.new(options.threads) { ChunkRunner.new(block, options, counters) }
          @write_lock = Mutex.new
        end

        # Calls exit! in an ensure: after a break or throw in the block this process would continue
        # in its copy of the caller's frames.
        def run(socket, parent:)
          @socket = socket
          status = exit_status do
            Thread.handle_interrupt(Object => :immediate) { set_up(parent) && process_requests }
          end
        ensure
          status ||= fail_with("#{LEFT_BY}break, return or throw; raise Skep::Stop to end early")
          flush
          Process.exit!(status)
        end

        private

        def exit_status
          yield
          0
        rescue SignalException => e
          exit_by_signal(e.signo)
        rescue SystemExit => e
          fail_with("#{LEFT_BY}exit, called at #{e.backtrace&.first}", e.status)
        rescue NoMemoryError, StandardError => e # for example, the block has closed our socket
          fail_with("#{e.class}: #{e.message}")
        end

        # Drops what belongs to the parent: its traps here, and its ends of other sockets in the
        # callback that WorkerSet has registered. Returns false if the parent has already died.
        def set_up(parent)
          Skep.on_fork(child: -> { [@socket, @counters].each(&:close) })
          SIGNALS.each { |name| reset_trap(name) }
          ENV["SKEP_NODE_ID"] = @number.to_s
          OS::ProcessTree::Prctl.parent_death_signal = :TERM
          return false unless Process.ppid == parent

          write_report([Process.pid, 0, FrameSocket::HELLO, 0, nil])
          true
        end

        # Restores Ruby's default handler. A signal that the parent ignores stays ignored.
        def reset_trap(name)
          handler = Signal.trap(name, "DEFAULT")
          Signal.trap(name, handler) unless handler.is_a?(Proc)
        end

        def process_requests
          return process_alone(@runners.first) if @runners.one?

          requests = Thread::Queue.new
          threads = @runners.map.with_index { |runner, i| start_thread(i, runner, requests) }
          while (request = read_request)
            requests << request
          end
        ensure
          threads&.each(&:kill)
        end

        # Stops after the first report that ends the map.
        def process_alone(runner)
          while (request = read_request)
            break unless process(runner, request) == FrameSocket::RESULTS
          end
        end

        def start_thread(index, runner, requests)
          main = Thread.current
          Thread.new do
            Thread.current.name = "skep.map.#{index}"
            Thread.current.report_on_exception = false
            process_queue(runner, requests)
          rescue Exception => e # rubocop:disable Lint/RescueException -- ends the whole worker
            main.raise(e)
          end
        end

        # If the block kills its thread, the whole worker ends: no other thread has the chunk.
        def process_queue(runner, requests)
          while (request = requests.pop)
            done = false
            process(runner, request)
            done = true
          end
        ensure
          Process.exit!(fail_with("its thread was killed")) if done == false && $!.nil?
        end

        # Returns the index of the first item, the number of items, the counter and the body; nil
        # once the parent has closed its end.
        def read_request
          header = @socket.read(FrameSocket::REQUEST_BYTES)
          return unless header && header.bytesize == FrameSocket::REQUEST_BYTES

          *request, bytes = header.unpack(FrameSocket::REQUEST)
          [*request, bytes.zero? ? nil : @socket.read(bytes)]
        end

        # Returns the kind of the report.
        def process(runner, (from, count, counter, body))
          report = runner.run(from, counter) { @source.load(from, count, body) }
          write_report(report)
          report[2]
        end

        def write_report(report)
          *header, body = report
          header = [*header, body ? body.bytesize : 0].pack(FrameSocket::REPORT)
          @write_lock.synchronize { body ? @socket.write(header, body) : @socket.write(header) }
          body&.clear # frees its memory before the next chunk
        end

        # Records the reason, which the parent reads once this worker has died, and returns the
        # exit status.
        def fail_with(reason, status = FAILED)
          @counters.record_exit_reason(@number, reason)
          status
        end

        # Kills this process by the signal that Ruby has turned into an exception, so that the
        # parent sees it in the status.
        def exit_by_signal(number)
          flush
          Signal.trap(number, "SYSTEM_DEFAULT")
          OS::Pidfd.open(Process.pid).signal(number)
          128 + number
        end

        def flush
          [$stdout, $stderr, STDOUT, STDERR].uniq.each(&:flush)
        rescue IOError, SystemCallError
          nil # It is closed, or its reader is gone.
        end

        # Calls the block with the items of chunks, in one thread of a worker. It counts each item
        # in shared memory before it starts it, and skips the rest of a chunk that the map has
        # withdrawn.
        #
        #   runner = ChunkRunner.new(block, options, counters)
        #   runner.run(40, counter) { items }    # => [counter, done, kind, nanoseconds, body]
        class ChunkRunner
          def initialize(block, options, counters)
            @block = block
            @with_index = options.with_index?
            @need_results = options.need_results?
            @counters = counters
          end

          def run(from, counter, &items)
            began = now
            @from = from
            @results = []
            kind, body = report(items, *@counters.location(counter))
            [counter, @done, kind, now - began, body]
          ensure
            @results = nil
          end

          private

          def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

          def report(items, page, cell, word)
            each_started(items.call, page, cell, word)
            completed
          rescue Unmarshallable => e
            unmarshallable(e, e.index)
          rescue Stop => e
            ended(FrameSocket::STOPPED) { e.value }
          rescue SystemExit, SignalException, NoMemoryError
            raise # These end the worker.
          rescue Exception => e # rubocop:disable Lint/RescueException -- raised in the caller
            ended(FrameSocket::RAISED) { Serializer.dump_error(e) }
          end

          # The hot loop.
          def each_started(items, page, cell, word)
            block = @block
            results = @results
            items.each do |item|
              value = page.add(cell, word, 1)
              break if value & SharedCounters::STARTED_MASK > value >> SharedCounters::LIMIT_SHIFT

              results << (@with_index ? block.call(item, @from + results.size) : block.call(item))
            end
          end

          def completed
            @done = @results.size
            body = Serializer.dump_results(@results, from: @from) if @need_results
            [FrameSocket::RESULTS, body]
          end

          # Reports the results of the items before the one that ended the chunk, too.
          def ended(kind)
            index = @from + @results.size
            _, results = completed
            [kind, Serializer.dump_end(results, yield, index)]
          rescue *Serializer::FAILURES => e # a result, or the value of Stop, can't be marshalled
            unmarshallable(e, index)
          end

          def unmarshallable(error, index)
            @done = 0
            index = error.index if error.is_a?(Unmarshallable)
            error = Serializer.dump_error(error)
            [FrameSocket::RAISED, Serializer.dump_end(nil, error, index)]
          end
        end
      end
      private_constant :WorkerProcess
    end
  end
end
