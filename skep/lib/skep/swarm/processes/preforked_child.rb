# frozen_string_literal: true

# One process forked ahead, that waits until it is assigned to a node. A node that dies is
# replaced without a fork then, which takes 30 ms with a heap of 1 GB.
#
#   # The block forks it. stuck: called with the pid of one that is about to be killed.
#   preforked_child = PreforkedChild.new(loop, stuck: ->(pid) { … }) { |order| … }
#   preforked_child.soon                  # forks one as soon as the mold is idle
#   preforked_child.take(frame)    # => the pidfd of the node that it is from now on
#   preforked_child.discard               # ends it
#   preforked_child.close_in_child                # in a fork of the mold
#
#   PreforkedChild.wait_for_assignment(order, signals)   # in the child: => its frame
#
# It has run nothing of the application but fork hooks, and shares all its memory.
#
# It must give two signs of life: it says when it waits, and closes its end of the order's
# channel when it has been assigned. If the first doesn't come within START_SECONDS, or the
# second within ANSWER_SECONDS, it is stuck in a fork hook or at a library's lock, or
# stopped, and is killed. Otherwise its node's slot would be empty until boot_timeout. Until
# it has said that it waits it isn't assigned, so that no node waits for slow fork hooks.
module Skep
  class Swarm
    module Processes
      class PreforkedChild
        IDLE_SECONDS = 0.005 # several nodes may die at once: it mustn't be forked between them
        END_SECONDS = 1.0
        START_SECONDS = 10.0 # fork hooks may connect again to what they need
        ANSWER_SECONDS = 2.0
        private_constant :IDLE_SECONDS, :END_SECONDS, :START_SECONDS, :ANSWER_SECONDS

        # Ends the process if it is stopped, or loses its mold, before it is a node: it has done
        # no work.
        def self.wait_for_assignment(order, signals)
          order.post("waiting")
          until IO.select([order, signals]).first.include?(order)
            Process.exit!(0) if (signals.take & NodeMain::SIGNALS).any?
          end
          order.take || Process.exit!(0)
        end

        def initialize(loop, stuck:, &fork)
          @loop = loop
          @stuck = stuck
          @fork = fork
          @assigned = [] # the orders that aren't confirmed yet
        end

        def soon
          @timer&.cancel
          @timer = @pidfd ? nil : @loop.after(IDLE_SECONDS) { make }
        end

        # Returns nil without a child, or if the child can't be given its node's socket and pages.
        def take(frame)
          return unless @pidfd && waiting?

          # It has just ended; or the kernel takes no descriptor just now.
          sent = @order.post(frame.type, frame.facts, lend: frame.ios)
          return discard if !sent || @order.pending?

          @watch.cancel
          confirm(@order, @pidfd)
          @pidfd.tap { @pidfd = nil }
        end

        def discard
          @timer&.cancel
          return unless @pidfd

          kill(@pidfd)
          @pidfd.to_io.wait_readable(END_SECONDS)
          exited
          nil
        end

        def close_in_child = [@order, @pidfd, *@assigned].compact.each(&:close)

        private

        # Returns true once the process has said that it waits. It may have run the application's
        # hooks: what it sends isn't parsed.
        def waiting?
          return @waiting if @waiting

          @waiting = @order.to_io.wait_readable(0) ? true : false
          answered if @waiting
          @waiting
        end

        def answered
          @waiting = true
          @answer.each(&:cancel)
        end

        def await_answer
          @waiting = false
          pidfd = @pidfd
          @answer = [@loop.watch(@order.to_io) { answered },
                     @loop.deadline(START_SECONDS) { end_stuck(pidfd) }]
        end

        # Waits until the process closes its end of the channel: it does so when it has the order,
        # or the kernel does when it dies.
        def confirm(order, pidfd)
          @assigned << order
          answer = [@loop.watch(order.to_io) { close_order(order, answer) if closed?(order) },
                    @loop.deadline(ANSWER_SECONDS) do
                      close_order(order, answer)
                      end_stuck(pidfd)
                    end]
        end

        def close_order(order, answer)
          answer.each(&:cancel)
          @assigned.delete(order)
          order.close
        end

        def closed?(order)
          [nil, ""].include?(order.to_io.recv_nonblock(256, exception: false))
        rescue Errno::ECONNRESET # it has left the order unread
          true
        end

        def end_stuck(pidfd)
          return if pidfd.closed? || !pidfd.alive?

          @stuck.call(pidfd.pid)
          kill(pidfd)
        end

        def kill(pidfd)
          pidfd.signal(:KILL)
        rescue Errno::ESRCH # it has ended just now
          nil
        end

        # If it fails, the mold forks each node when it is asked to.
        def make
          OS::ProcessTree::ForkProbe.check
          @order, theirs = IPC::Channel.pair
          pidfd = OS::Pidfd.open(pid = @fork.call(theirs)).tap(&:to_io)
          @watch = @loop.watch(pidfd.to_io) { exited }
          @pidfd = pidfd
          await_answer
        rescue SystemCallError # EAGAIN, ENOMEM, EMFILE
          Process.detach(pid) if pid
          @order&.close # and so it ends
        ensure
          theirs&.close
        end

        # No other is forked at once: what ended this one would end the next one.
        def exited
          @pidfd.kill_leftover_group
          return unless @pidfd.wait(timeout: 0)

          [@watch, *@answer].each(&:cancel)
          [@order, @pidfd].each(&:close)
          @pidfd = nil
        end
      end
    end
  end
end
