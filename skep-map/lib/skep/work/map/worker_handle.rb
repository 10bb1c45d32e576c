# frozen_string_literal: true

require "socket"

module Skep
  module Work
    class Map
      # The caller's view of a worker: its socket, its pidfd, and its chunks in flight.
      #
      #   worker = WorkerHandle.new(number, counters)
      #   worker.start { |socket| … }    # the block runs in the worker and must not return
      #   worker.assign(chunk, bytes)
      #   worker.receive { |counter, done, kind, nanoseconds, body| … }
      #   worker.withdraw               # => [Chunk], the items that it hasn't started
      #   worker.end_requests; worker.wait(1.0); worker.close
      class WorkerHandle
        attr_reader :number # from 0
        attr_reader :pid
        attr_reader :pidfd
        attr_reader :sizer
        attr_reader :socket

        def initialize(number, counters)
          @number = number
          @counters = counters
          counters.clear(number)
          @own_counters = counters.of(number)
          @threads = @own_counters.size / 2
          @socket, @worker_socket = UNIXSocket.pair
          @frames = FrameSocket.new(@socket)
          @in_flight = {}
          @withdrawn = []
          @sizer = ChunkSizer.new
        end

        # Forks the worker. In it, no exception (not even by a signal that arrives at once) may
        # unwind the copy of the caller's frames, so interrupts are deferred except while it works.
        def start
          caller_pid = Skep.pid
          Thread.handle_interrupt(Object => :never) do
            deliver_pending_interrupts
            @pid = Process.fork
            yield @worker_socket unless @pid
            @worker_socket.close
            open_pidfd
          end
        ensure
          Process.exit!(1) unless Skep.pid == caller_pid
        end

        # In the order in which they were sent.
        def chunks = @in_flight.values

        def idle? = @in_flight.empty?

        # Returns true if it may have items that none of its threads has started.
        def surplus? = @in_flight.except(*@withdrawn).values.sum(&:size) > @threads

        # Returns true if it may be sent another chunk. A chunk may wait in its socket if the ones
        # it processes are short, or if there are plenty of items for all workers.
        def room?(plenty)
          @in_flight.size < (plenty || @sizer.prefetch? ? @threads * 2 : @threads)
        end

        def pending? = @frames.pending?

        def assign(chunk, bytes)
          counter = (@own_counters - @in_flight.keys).first
          @in_flight[counter] = chunk
          @withdrawn.delete(counter)
          @counters.reset(counter, chunk.size)
          header = [chunk.from, chunk.size, counter, bytes ? bytes.bytesize : 0]
          @frames.write(header.pack(FrameSocket::REQUEST), bytes)
        end

        # Yields each report; returns false once the worker has closed its end.
        def receive(&) = @frames.receive(&)

        def flush = @frames.flush

        # Removes the chunk that it has reported, and returns it.
        def completed(counter) = @in_flight.delete(counter)

        # Takes back the items that it hasn't started. It never starts them.
        def withdraw
          @in_flight.filter_map do |counter, chunk|
            kept, rest = chunk.split_after(@counters.withdraw(counter, chunk.size))
            @in_flight[counter] = kept
            @withdrawn |= [counter]
            rest if rest.size.positive?
          end
        end

        # The indexes of the items that it has started last, one for each chunk.
        def last_started
          @in_flight.filter_map do |counter, chunk|
            count = @counters.started(counter, chunk.size)
            chunk.from + count - 1 if count.positive?
          end
        end

        def exit_reason = @counters.exit_reason(number)

        # Sends end of file: the worker ends once it has processed its requests. By shutdown, not
        # close, because other processes may have copies of the socket.
        def end_requests
          @socket.shutdown(Socket::SHUT_WR)
        rescue Errno::ENOTCONN
          nil # It has ended.
        end

        def signal(name)
          @pidfd&.signal(name)
        rescue Errno::ESRCH
          nil # It has ended.
        end

        # Waits for its end and reaps it; nil at the deadline.
        def wait(seconds)
          @pidfd ? @pidfd.wait(timeout: seconds) : OS::Pidfd::UnknownStatus.new(@pid)
        end

        # An exception of a trap handler, which nothing defers, may have interrupted `start` after
        # the fork. If there is a worker, it has sent its pid.
        def recover
          return if @started

          @worker_socket.close
          @pid ||= @socket.read(FrameSocket::REPORT_BYTES)&.unpack1("Q<")
          open_pidfd if @pid
        end

        # Closes the descriptors in another child of the caller.
        def close_in_child = [@socket, @pidfd].compact.each(&:close)

        def close = [@socket, @worker_socket, @pidfd].compact.each(&:close)

        def inspect = "#<#{self.class} #{number} pid=#{pid || "?"} chunks=#{@in_flight.size}>"

        private

        # Raises here what is pending for this thread. A fork makes Ruby forget it in the parent,
        # too (Ruby bug 20393, before 3.4), and a Timeout would never be raised. Flushes first what
        # fork itself would flush, because other threads may run meanwhile.
        def deliver_pending_interrupts
          [$stdout, $stderr].each(&:flush)
          Thread.handle_interrupt(Object => :immediate) { nil } if Thread.pending_interrupt?
        end

        def open_pidfd
          @pidfd = OS::Pidfd.open(@pid)
          @started = true
        rescue Errno::ESRCH
          @started = true # It has died, and a handler of CHLD has reaped it: its socket is closed.
        end

        # Chooses how many items a worker gets at a time, by how long its last chunk took. Pure.
        #
        #   sizer = ChunkSizer.new
        #   sizer.size                               # => 1
        #   sizer.record(1, seconds: 0.00001, bytes: 20)
        #   sizer.size                               # => 64
        #   sizer.min_size                           # => 25; smaller chunks aren't worth it
        #   sizer.prefetch?                          # may the next chunk wait in its socket?
        #
        # Short chunks cost a message each. Long chunks keep other workers waiting at the end, and
        # so does a chunk that waits behind a long one.
        class ChunkSizer
          SHORT = 0.002    # seconds; a shorter chunk is followed by a larger one
          LONG = 0.008     # seconds; a longer chunk is followed by a smaller one
          SHORTEST = 0.00025
          FACTORS = [64, 8, 2].freeze
          MAX_BYTES = 1 << 19 # of a chunk's results
          private_constant :SHORT, :LONG, :SHORTEST, :FACTORS, :MAX_BYTES

          attr_reader :size
          attr_reader :min_size

          def initialize
            @size = @min_size = 1
            @prefetch = false
          end

          def prefetch? = @prefetch

          def record(count, seconds:, bytes:)
            return if count.zero?

            @size = [(count * factor(seconds, bytes)).to_i, 1].max
            @min_size = seconds.positive? ? [(count * SHORTEST / seconds).to_i, 1].max : count
            @prefetch = seconds <= LONG
          end

          private

          # Doubles under 2 ms; far under 2 ms it takes larger steps.
          def factor(seconds, bytes)
            return 0.5 if seconds > LONG || bytes > MAX_BYTES

            fits = ->(factor) { seconds < SHORT * 2 / factor && bytes < MAX_BYTES / factor }
            FACTORS.find(&fits) || 1
          end
        end
      end
      private_constant :WorkerHandle
    end
  end
end
