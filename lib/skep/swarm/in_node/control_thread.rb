# frozen_string_literal: true

# A node's control thread: what comes by signal and by channel, and the end of its supervisor.
#
#   control = ControlThread.new(signals:, orphan_timeout: 5.0).start
#   control.serve(child, channel) { |frame| … }    # frames that aren't commands go to the block
#
# Until it serves somebody, signals wait.
# The kernel tells of the supervisor's death by its pidfd, also where a process that the
# supervisor's program forked keeps the channel open; without pidfds by the channel's end.
# An orphan stops as if told to, and after orphan_timeout ends by force; both with status 3.
module Skep
  class Swarm
    module InNode
      class ControlThread
        FORCED = ExitCode::FORCED
        ORPHANED = ExitCode::ORPHANED

        attr_reader :signals #: Runtime::SelfPipe
        attr_reader :orphan_guard #: Runtime::OrphanGuard?

        def initialize(signals:, orphan_timeout:, orphan_guard: nil)
          @signals = signals
          @orphan_guard = orphan_guard
          @orphan_timeout = orphan_timeout
          @deadline = nil
          @repeated_stop = Runtime::RepeatedStop.new
          @wake, @waker = OS.pipe
        end

        def start #: () -> ControlThread
          @thread = Threads::Background.new("control") { watch }
          self
        end

        #: (Child, IPC::Channel) ?{ (IPC::Channel::Message) -> void } -> self
        def serve(child, channel, &other)
          @other, @channel, @child = other, channel, child
          @waker.write("w")
          self
        end

        # Sends a frame; what the socket can't take now goes as soon as it can.
        # Called from any thread.
        def post(...) #: (*untyped, **untyped) -> bool
          sent = @channel.post(...)
          @waker.write_nonblock("w", exception: false) if @channel.pending? && !@left
          sent
        end

        # The last words: waits until all is sent, for so many seconds at most.
        def flush(seconds) #: (Float) -> void
          deadline = OS.now + seconds
          while @channel.flush && @channel.pending?
            break unless @channel.to_io.wait_writable([deadline - OS.now, 0].max)
          end
        rescue IOError # closed by an application that closes all descriptors
          nil
        end

        def orphaned? = !@deadline.nil? #: () -> bool

        # Ends the thread: nobody controls the process then.
        def leave #: () -> void
          @left = true
          @waker.write_nonblock("w", exception: false)
          @thread.close(timeout: nil)
          [@wake, @waker].each(&:close)
        end

        private

        def watch
          until @left
            IO.select(sources, pending, nil, @deadline && [@deadline - OS.now, 0].max)
            end_orphan if @deadline && OS.now >= @deadline
            @wake.read_nonblock(256, exception: false)
            take_orders if @child
          end
        rescue StandardError => e # a node that can't be told anything is worth nothing
          warn("skep: the control thread failed: #{e.full_message(highlight: false)}")
          Process.exit!(1) # another takes its place
        end

        def take_orders
          @signals.take.each { |name| signal(name) }
          orphan unless orphaned? || (listen && !@orphan_guard&.lost?)
        end

        def sources
          return [@wake] unless @child

          [@signals, @wake, *([@channel, *@orphan_guard&.supervisor] unless orphaned?)]
        end

        # What the kernel refuses just now goes with the next frame: the channel stays writable.
        def pending
          [@channel] if @child && !orphaned? && @channel.pending? && !@channel.refused?
        end

        def listen
          @channel.flush
          @channel.receive { |frame| obey(frame) }
        end

        def orphan
          @deadline = OS.now + @orphan_timeout
          @child.__stop
        end

        def end_orphan
          @orphan_guard&.clear_up
        ensure
          Process.exit!(ORPHANED)
        end

        def obey(frame)
          case frame.type
          when "stop" then @child.__stop(for_good: frame["for_good"])
          when "quiet" then @child.__quiet
          when "place" then @child.__place
          when "suspects" then @child.caution.__hear(frame)
          when "become_mold" then @child.__become_mold(frame["mold"], frame.ios.first)
          when "backtraces" then frame["hung"] ? add_backtraces : backtraces
          else @other&.call(frame)
          end
        end

        def signal(name)
          case name
          when "TERM", "INT" then stop(name)
          when "QUIT" then Process.exit!(FORCED)
          when "TSTP" then @child.__quiet
          when "TTIN" then backtraces
          end
        end

        def stop(name)
          case @repeated_stop.of(name, OS.now)
          when :first then @child.__stop
          when :again then Process.exit!(FORCED)
          end
        end

        def backtraces = @child.event(:node_backtraces, threads: ThreadDump.all)

        # It is taken for hung: the last it can say.
        def add_backtraces
          others = Thread.list - [Thread.current]
          post("backtraces", { "threads" => ThreadDump.all(others) }, may_drop: true)
        end
      end

      # Harm that a node does to itself when `skep chaos` orders it, in a swarm with `chaos: true`.
      #
      #   FaultInjection.do("hang")       # every thread but this one stands still at its next line
      #   FaultInjection.do("leak", 32 << 20)     # so many bytes more, for good
      #
      # Nothing calls it in a swarm without that option.
      module FaultInjection
        @leaked = []

        class << self
          def do(order, bytes = nil) #: (String, ?Integer?) -> void
            case order
            when "hang" then hang(Thread.current)
            when "leak" then @leaked << ("x" * bytes)
            end
          end

          private

          def hang(spared)
            nothing = Queue.new
            TracePoint.new(:line, :return, :c_return) do
              nothing.pop unless Thread.current == spared
            end.enable
          end
        end
      end
    end
  end
end
