# frozen_string_literal: true

# A node's control thread: handles signals and messages of the supervisor, and notices the
# supervisor's death, while the work is busy. It also measures the node's memory from time to time,
# and profiles the node when it is asked to.
#
#   control = ControlThread.new(signals:, orphan_timeout: 5.0).start
#   control.serve(node, channel) { |frame| … }    # the block gets messages that it doesn't handle
#
# Signals wait until it serves a node. The pidfd of the supervisor reports its death, also if
# another process keeps the channel open; without pidfds the channel's end does. An orphan stops as
# if it was asked to, and is ended after orphan_timeout; both with status 3.
module Skep
  class Swarm
    module Processes
      class ControlThread
        FORCED = ExitCode::FORCED
        ORPHANED = ExitCode::ORPHANED
        REFUSED_RETRY = 0.01 # seconds until a flush tries again what the kernel has refused

        attr_reader :signals
        attr_reader :orphan_guard

        def initialize(signals:, orphan_timeout:, orphan_guard: nil)
          @signals = signals
          @orphan_guard = orphan_guard
          @supervisor = orphan_guard&.supervisor
          @orphan_timeout = orphan_timeout
          @deadline = nil
          @repeated_stop = Runtime::SelfPipe::RepeatedStop.new
          @wake, @waker = OS.pipe
        end

        def start
          @thread = Threads::Background.new("control") { watch }
          self
        end

        # meter: a Memory::MemoryMeter; nil for a process that isn't measured.
        def serve(node, channel, meter: nil, &other)
          @other, @channel, @meter, @node = other, channel, meter, node
          @waker.write("w")
          self
        end

        # Sends a message. What the socket can't take now is sent as soon as it can. Called from any
        # thread.
        def post(...)
          sent = @channel.post(...)
          @waker.write_nonblock("w", exception: false) if @channel.pending? && !@left
          sent
        end

        # Waits until everything is sent, for so many seconds at most.
        def flush(seconds)
          deadline = OS.now + seconds
          while @channel.flush && @channel.pending?
            left = [deadline - OS.now, 0].max
            # A socket may be writable although the kernel has no memory for what is to be sent.
            IO.select(nil, nil, nil, [REFUSED_RETRY, left].min) if @channel.send_buffer_full?
            break if left.zero? || !@channel.to_io.wait_writable(left)
          end
        rescue IOError # closed by an application that closes all descriptors
          nil
        end

        def orphaned? = !@deadline.nil?

        # Ends the thread. Nothing handles signals and messages then.
        def leave
          @left = true
          @waker.write_nonblock("w", exception: false)
          @thread&.close(timeout: nil)
          @profiler&.stop
          [@wake, @waker].each(&:close)
        end

        private

        def watch
          until @left
            IO.select(sources, pending, nil, seconds_left)
            end_orphan if @deadline && OS.now >= @deadline
            @wake.read_nonblock(256, exception: false)
            take_orders if @node
            @meter.measure if @meter&.due?
            profile if @profiler && OS.now >= @profiler.due
          end
        rescue StandardError => e # a node that can't be controlled must be replaced
          warn("skep: the control thread failed: #{e.full_message(highlight: false)}")
          Process.exit!(1)
        end

        # Returns the seconds until something is due; nil if nothing is.
        def seconds_left
          due = [*@deadline, *@meter&.due, *@profiler&.due].min
          due && [due - OS.now, 0].max
        end

        def take_orders
          @signals.take.each { |name| signal(name) }
          orphan unless orphaned? || (listen && !supervisor_lost?)
        end

        def supervisor_lost? = @supervisor ? !@supervisor.alive? : false

        def sources
          return [@wake] unless @node

          [@signals, @wake, *([@channel, *@supervisor] unless orphaned?)]
        end

        # A frame that the kernel refuses just now is sent with the next one: the channel stays
        # writable.
        def pending
          [@channel] if @node && !orphaned? && @channel.pending? && !@channel.send_buffer_full?
        end

        def listen
          @channel.flush
          @channel.receive { |frame| handle(IPC::Messages::TO_NODE.check(frame)) }
        end

        def orphan
          @deadline = OS.now + @orphan_timeout
          @node.__stop
          @node.__all_finished # no supervisor is left to report it
        end

        def end_orphan
          @orphan_guard&.clear_up
        ensure
          Process.exit!(ORPHANED)
        end

        def handle(frame)
          case frame.type
          when "stop" then @node.__stop(scaling_down: frame["scaling_down"], all: frame["all"])
          when "all_finished" then @node.__all_finished
          when "quiet" then @node.__quiet
          when "resume" then @node.__resume
          when "place" then @node.__place(frame.ios)
          when "suspects" then @node.__crash_suspects.__receive(frame)
          when "become_mold" then @node.__become_mold(frame["mold"], frame.ios.first)
          when "backtraces" then frame["hung"] ? report_hung : backtraces
          when "profile" then start_profile(frame["seconds"], frame["bytes"])
          when "lines" then post("lines", { "lines" => @node.__lines }, may_drop: true)
          else @other&.call(frame)
          end
        end

        def signal(name)
          case name
          when "TERM", "INT" then stop(name)
          when "QUIT" then Process.exit!(FORCED)
          when "TSTP" then @node.__quiet
          when "TTIN" then backtraces
          end
        end

        def stop(name)
          case @repeated_stop.of(name, OS.now)
          when :first then @node.__stop
          when :again then Process.exit!(FORCED)
          end
        end

        def backtraces = @node.event(:node_backtraces, threads: ThreadDump.all)

        # A failure of it, which would be a bug of skep's, ends only the profile.
        def start_profile(seconds, bytes)
          @profiler&.stop
          @profile_bytes = bytes
          @profiler = Profiling::NodeProfiler.new(seconds)
          @profiler.start
        rescue StandardError => e
          end_profile("refused" => IPC::PlainData.error(e))
        end

        def profile
          @profiler.tick
          return unless @profiler.over?

          end_profile("profile" => JSON.generate(@profiler.result(@profile_bytes)))
        rescue StandardError => e
          end_profile("refused" => IPC::PlainData.error(e))
        end

        def end_profile(facts)
          @profiler&.stop
          @profiler = nil
          post("profile", facts, may_drop: true)
        end

        # The supervisor considers the node hung, and ends it once it has the backtraces.
        def report_hung
          others = Thread.list - [Thread.current]
          post("backtraces", { "threads" => ThreadDump.all(others) }, may_drop: true)
        end
      end
    end
  end
end
