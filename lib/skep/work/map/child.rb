# frozen_string_literal: true

module Skep
  module Work
    class Map
      # A node's own view of its life: from the fork to exit!.
      #
      #   Child.new(block, options, source, claims:, slot:).live(socket, parent:)   # never returns
      #
      # Its main thread takes orders; with `threads` of more than one others work them off. It ends
      # when the parent hangs up, or when that dies, or by a signal.
      class Child
        SIGNALS = %w[INT TERM HUP QUIT ALRM USR1 USR2 CHLD TSTP TTIN TTOU CONT WINCH].freeze
        FAILED = 1
        PURPOSE = "left by " # begins the last words of who needn't be tried again
        private_constant :SIGNALS, :FAILED

        #: (Proc, Options, untyped source, claims: Claims, slot: Integer) -> void
        def initialize(block, options, source, claims:, slot:)
          @source = source
          @claims = claims
          @slot = slot
          @hands = Array.new(options.threads) { Hand.new(block, options, claims) }
          @lock = Mutex.new
        end

        # exit! in an ensure: a break or throw in the block would go on in the caller's frames,
        # which this process has a copy of.
        #
        #: (UNIXSocket, parent: Integer) -> bot
        def live(socket, parent:)
          @socket = socket
          status = attempt do
            Thread.handle_interrupt(Object => :immediate) { settle(parent) && serve }
          end
        ensure
          status ||= say("#{PURPOSE}break, return or throw: raise Skep::Stop to end early")
          flush
          Process.exit!(status)
        end

        private

        #: () { () -> void } -> Integer
        def attempt
          yield
          0
        rescue SignalException => e
          die_by(e.signo)
        rescue SystemExit => e
          say("#{PURPOSE}exit, called at #{e.backtrace&.first}", e.status)
        rescue NoMemoryError, StandardError => e # such as that of a socket that the block closed
          say("#{e.class}: #{e.message}")
        end

        # What was for the parent isn't for us: its traps, and its end of other sockets, which its
        # callbacks close. False when it is gone already.
        #
        #: (Integer parent) -> bool
        def settle(parent)
          Skep.on_fork(child: -> { [@socket, @claims].each(&:close) })
          SIGNALS.each { |name| reset(name) }
          ENV["SKEP_NODE_ID"] = @slot.to_s
          OS::ProcessTree::Prctl.parent_death_signal = :TERM
          return false unless Process.ppid == parent

          report([Process.pid, 0, Frame::HELLO, 0, nil])
          true
        end

        # What is ignored stays ignored.
        #
        #: (String name) -> void
        def reset(name)
          handler = Signal.trap(name, "DEFAULT")
          Signal.trap(name, handler) unless handler.is_a?(Proc)
        end

        #: () -> void
        def serve
          return serve_alone(@hands.first) if @hands.one?

          orders = Thread::Queue.new
          threads = @hands.map.with_index { |hand, number| start(number, hand, orders) }
          while (order = take)
            orders << order
          end
        ensure
          threads&.each(&:kill)
        end

        # Begins nothing after what ends the map.
        #
        #: (Hand) -> void
        def serve_alone(hand)
          while (order = take)
            break unless perform(hand, order) == Frame::RESULTS
          end
        end

        #: (Integer number, Hand, Thread::Queue) -> Thread
        def start(number, hand, orders)
          main = Thread.current
          Thread.new do
            Thread.current.name = "skep.map.#{number}"
            Thread.current.report_on_exception = false
            work(hand, orders)
          rescue Exception => e # rubocop:disable Lint/RescueException -- ends the whole node
            main.raise(e)
          end
        end

        # A thread that is killed in the block takes the node with it: nobody else has its chunk.
        #
        #: (Hand, Thread::Queue) -> void
        def work(hand, orders)
          while (order = orders.pop)
            done = false
            perform(hand, order)
            done = true
          end
        ensure
          Process.exit!(say("its thread was killed")) if done == false && $!.nil?
        end

        # Place of the first item, number of items, lane, cargo; nil when the parent has hung up.
        #
        #: () -> [Integer, Integer, Integer, String?]?
        def take
          head = @socket.read(Frame::ORDER_BYTES)
          return unless head && head.bytesize == Frame::ORDER_BYTES

          *order, bytes = head.unpack(Frame::ORDER)
          [*order, bytes.zero? ? nil : @socket.read(bytes)]
        end

        # The kind of its report.
        #
        #: (Hand, [Integer, Integer, Integer, String?]) -> Integer
        def perform(hand, (from, count, lane, cargo))
          report = hand.work(from, lane) { @source.unpack(from, count, cargo) }
          report(report)
          report[2]
        end

        #: ([Integer, Integer, Integer, Integer, String?]) -> void
        def report(report)
          *head, cargo = report
          head = [*head, cargo ? cargo.bytesize : 0].pack(Frame::REPORT)
          @lock.synchronize { cargo ? @socket.write(head, cargo) : @socket.write(head) }
          cargo&.clear # its memory is at hand for the next
        end

        # Last words, which the parent reads when this node has died; and its status.
        #
        #: (String, ?Integer status) -> Integer
        def say(words, status = FAILED)
          @claims.say(@slot, words)
          status
        end

        # As if nobody had rescued it: the parent sees the signal in the status.
        #
        #: (Integer number) -> Integer
        def die_by(number)
          flush
          Signal.trap(number, "SYSTEM_DEFAULT")
          OS::Pidfd.open(Process.pid).signal(number)
          128 + number
        end

        #: () -> void
        def flush
          [$stdout, $stderr, STDOUT, STDERR].uniq.each(&:flush)
        rescue IOError, SystemCallError
          nil # Closed, or nobody reads it.
        end
      end
      private_constant :Child
    end
  end
end
