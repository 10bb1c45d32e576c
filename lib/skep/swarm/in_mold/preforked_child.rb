# frozen_string_literal: true

# One node forked ahead: a process that is nobody yet, and waits to be told who it is. A node that
# dies is replaced without a fork then, which takes 30 ms of a heap of 1 GB.
#
#   preforked_child = PreforkedChild.new(loop) { |order| … }   # the block forks one, which waits
#   preforked_child.soon                       # one is made as soon as it is quiet
#   preforked_child.take(frame, socket)   # => the pidfd of who is that node from now on, if any
#   preforked_child.discard                    # nobody is wanted any more
#   preforked_child.disown                     # in a fork of the mold
#
#   PreforkedChild.told(order, signals)       # in the child: its frame; ends it where none comes
#
# It has run nothing of the application but what runs in every fork, and shares all its memory.
module Skep
  class Swarm
    module InMold
      class PreforkedChild
        QUIET_SECONDS = 0.005 # several nodes may die at once: it mustn't be made between them
        END_SECONDS = 1.0
        private_constant :QUIET_SECONDS, :END_SECONDS

        # Who is told to stop before it is anybody, or has lost its mold, has done no work.
        #: (IPC::Channel, Runtime::SelfPipe) -> IPC::Channel::Message
        def self.told(order, signals)
          ready, = IO.select([order, signals])
          (order.take if ready.include?(order)) || Process.exit!(0)
        end

        def initialize(loop, &fork) #: (OS::EventLoop) { (UNIXSocket) -> Integer } -> void
          @loop = loop
          @fork = fork
        end

        def soon #: () -> void
          @timer&.cancel
          @timer = @pidfd ? nil : @loop.after(QUIET_SECONDS) { make }
        end

        def take(frame, socket) #: (IPC::Channel::Message, BasicSocket) -> OS::Pidfd?
          return unless @pidfd && @order.post(frame.type, frame.facts, lend: [socket])
          return discard if @order.pending? # the kernel takes no descriptor just now

          @watch.cancel
          @order.close
          @pidfd.tap { @pidfd = nil }
        end

        def discard #: () -> void
          @timer&.cancel
          return unless @pidfd

          @pidfd.signal(:KILL)
          @pidfd.to_io.wait_readable(END_SECONDS)
          gone
          nil
        end

        def disown = [@order, @pidfd].compact.each(&:close) #: () -> void

        private

        # Without one nodes are forked when they are wanted.
        def make
          OS::ProcessTree::ForkProbe.check
          @order, theirs = IPC::Channel.pair
          @pidfd = OS::Pidfd.open(pid = @fork.call(theirs))
          @watch = @loop.watch(@pidfd.to_io) { gone }
        rescue SystemCallError # EAGAIN, ENOMEM, EMFILE
          Process.detach(pid) if pid
          @order&.close # and so it ends
        ensure
          theirs&.close
        end

        # By itself: what makes one die would make the next one die.
        def gone
          @pidfd.kill_leftover_group
          return unless @pidfd.wait(timeout: 0)

          @watch.cancel
          [@order, @pidfd].each(&:close)
          @pidfd = nil
        end
      end
    end
  end
end
