# frozen_string_literal: true

# Serves the supervisor from a warm mold: forks nodes on request, reaps them, and reports both,
# until its channel ends.
#
#   fork_server = ForkServer.new(swarm, config, number: 2, channel:, signals:, orphan_guard:,
#                                finalizers:, page:, layout:)
#   fork_server.run     # returns when the supervisor has released the mold
#
# One child is forked ahead (PreforkedChild). If the supervisor dies, the mold stays until its nodes
# have ended (OrphanedNodes). A child keeps no descriptor of the mold's or of its siblings'. What it
# does then is NodeMain's; a node that becomes a mold continues in MoldMain.
module Skep
  class Swarm
    module Processes
      class ForkServer
        # finalizers: those that no child may run; shared: the page and its layout, for each node.
        def initialize(swarm, config, number:, channel:, signals:, orphan_guard:, finalizers:,
                       **shared)
          @swarm, @config, @number, @shared = swarm, config, number, shared
          @channel, @signals, @orphan_guard = channel, signals, orphan_guard
          @finalizers = finalizers
          @loop = OS::EventLoop.new
          @link = IPC::Connection.new(@loop, channel, IPC::Messages::TO_MOLD,
                                      ended: -> { channel_ended }) { |frame| handle(frame) }
          @children = {} # the watch of each, by pidfd
          @unreaped = []
          @preforked_child = PreforkedChild.new(@loop, stuck: method(:report_stuck)) do |order|
            fork { |control| wait_for_assignment(order, control) }
          end
        end

        def run
          @loop.watch(@signals.to_io) { @signals.take }
          @link.listen
          @loop.run
        ensure
          @preforked_child.discard
          OS::ProcessTree::ProcessGroup.kill_others
        end

        private

        # A released mold leaves at once. Otherwise its supervisor is dead.
        def channel_ended
          return @loop.stop if @released || @children.empty?

          @orphaned = true
          OrphanedNodes.new(@loop, @children, @orphan_guard).take_over
          @preforked_child.discard # waits for its end
        end

        def handle(frame)
          reap_traced
          case frame.type
          when "fork" then fork_node(frame)
          when "ping" then @link.post("pong")
          when "leave" then @released = true
          end
        end

        def fork_node(frame)
          socket = frame.ios.first or raise Errno::EMFILE, "for a node's channel"
          follow(frame["page_index"], @preforked_child.take(frame, socket) || forked(frame, socket))
        rescue SystemCallError => e # EAGAIN, ENOMEM, EMFILE: NodePool#fork_failed
          @link.post("fork_failed", { "page_index" => frame["page_index"], "error" => e.message })
        ensure
          socket&.close
          @preforked_child.soon
        end

        def report_stuck(pid) = @link.post("preforked_stuck", { "pid" => pid })

        def forked(frame, socket)
          OS::ProcessTree::ForkProbe.check
          pid = fork { |control| live(frame, socket, control) }
          socket.close # so that there is a descriptor for the pidfd
          OS::Pidfd.open(pid)
        rescue SystemCallError
          Process.detach(pid) if pid # its channel ends, and so does it
          raise
        end

        def follow(page_index, pidfd)
          lend = OS::Pidfd.native? ? [pidfd.to_io] : []
          @link.post("forked", { "page_index" => page_index, "pid" => pidfd.pid }, lend:)
          @children[pidfd.hold] = @loop.watch(pidfd.to_io) { reap(page_index, pidfd) }
        end

        def reap(page_index, pidfd)
          pidfd.kill_leftover_group
          status = pidfd.wait(timeout: 0) or return

          @children.delete(pidfd).cancel
          facts = { "page_index" => page_index, "pid" => pidfd.pid }
          @link.post("exited", { **facts, **IPC::ExitStatus.of(status).to_plain })
          status.is_a?(OS::Pidfd::UnknownStatus) ? @unreaped << pidfd : pidfd.close
          @loop.stop if @orphaned && @children.empty?
        end

        # Reaps processes that a debugger held when they ended: the kernel lets no process reap them
        # until the tracer has waited for them, and no event reports that. So each message is an
        # occasion.
        def reap_traced
          @unreaped.reject! { |pidfd| reaped?(pidfd) && !pidfd.close }
        end

        def reaped?(pidfd)
          pidfd.wait(timeout: 0).is_a?(Process::Status) || !Process.getpgid(pidfd.pid)
        rescue Errno::ESRCH # another process has reaped it
          true
        end

        # Forks a child, in which the block returns the exit status.
        def fork
          Runtime::SelfPipe.with_inherited_handlers do
            Process.fork do
              signals = Runtime::SelfPipe.new(NodeMain::SIGNALS, inherited: @signals,
                                              unless_handled: NodeMain::SUPERVISOR_SIGNALS)
              @orphan_guard.adopt_as_node
              [@signals, @preforked_child].each(&:close_in_child)
              [@loop, @channel].each(&:close)
              OS::Pidfd.abandon(@children.keys + @unreaped)
              Process.exit(yield(control(signals)))
            end
          end
        end

        # In a child, from here to its end.

        def control(signals)
          @finalizers.disarm
          Processes::ControlThread.new(signals:, orphan_guard: @orphan_guard,
                                    orphan_timeout: @config.orphan_timeout).start
        end

        # Returns the exit status of a node.
        def live(frame, socket, control)
          channel = IPC::Channel.new(socket)
          node = Processes::NodeMain.new(@swarm, frame.facts, channel:, config: @config, control:,
                                                           **@shared)
          status = node.run
          status == :become_mold ? become_mold(node, channel, control) : status
        end

        # Returns an exit status only if the node can't become a mold.
        def become_mold(node, channel, control)
          number, socket = node.mold_order
          signals, orphan_guard = control.signals, control.orphan_guard
          node.leave
          own = [socket, channel, signals, *orphan_guard.supervisor]
          finding = MoldMain.unsafe(except: own).first
          return node.unfit(finding) if finding

          node.became_mold
          MoldMain.take_over(IPC::Channel.new(socket), swarm: @swarm, number:, config: @config,
                                                       signals:, orphan_guard:, **@shared)
        end

        # The same for a preforked child, once it is assigned to a node.
        def wait_for_assignment(socket, control)
          title = "skep #{@swarm.name} preforked (mold #{@number})"
          Process.setproctitle(title) if @config.process_titles
          order = IPC::Channel.new(socket)
          frame = PreforkedChild.wait_for_assignment(order, control.signals)
          order.close
          live(frame, frame.ios.first, control)
        end

        # One process forked ahead, that waits until it is assigned to a node. A node that dies is
        # replaced without a fork then, which takes 30 ms with a heap of 1 GB.
        #
        #   # The block forks it. stuck: called with the pid of one that is about to be killed.
        #   preforked_child = PreforkedChild.new(loop, stuck: ->(pid) { … }) { |order| … }
        #   preforked_child.soon                  # forks one as soon as the mold is idle
        #   preforked_child.take(frame, socket)   # => the pidfd of the node that it is from now on
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

          # Returns nil if there is none, or if it can't be given its node's socket.
          def take(frame, socket)
            return unless @pidfd && waiting?
            return unless @order.post(frame.type, frame.facts, lend: [socket])
            return discard if @order.pending? # the kernel takes no descriptor just now

            @watch.cancel
            confirm(@order, @pidfd)
            @pidfd.tap { @pidfd = nil }
          end

          def discard
            @timer&.cancel
            return unless @pidfd

            @pidfd.signal(:KILL)
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
            pidfd.signal(:KILL)
          rescue Errno::ESRCH # it has ended just now
            nil
          end

          # If it fails, the mold forks each node when it is asked to.
          def make
            OS::ProcessTree::ForkProbe.check
            @order, theirs = IPC::Channel.pair
            @pidfd = OS::Pidfd.open(pid = @fork.call(theirs))
            @watch = @loop.watch(@pidfd.to_io) { exited }
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

        # Ends the nodes of a mold whose supervisor is dead.
        #
        #   OrphanedNodes.new(loop, children, orphan_guard).take_over    # children: by pidfd
        #
        # Each node stops itself. Those that don't are killed at orphan_timeout, with all processes
        # of their group. If the mold left at once, a node that has executed another program would
        # stay, and so would the processes of a node that dies at that moment. If the mold is killed
        # all the same, each node ends itself (OS::ProcessTree::ParentDeathWatch).
        class OrphanedNodes
          # children: ForkServer removes each that it has reaped.
          def initialize(loop, children, orphan_guard)
            @loop = loop
            @children = children
            @orphan_guard = orphan_guard
          end

          def take_over
            @orphan_guard.extend_patience
            each { |pidfd| pidfd.signal(:CONT) } # a stopped process can't finish its batch
            @loop.after(@orphan_guard.patience) { each { |pidfd| kill(pidfd) } }
          end

          private

          # A child that doesn't lead its group yet is in the mold's.
          def kill(pidfd)
            pidfd.signal(:KILL)
            pidfd.signal(:KILL, group: true)
          end

          def each
            @children.each_key do |pidfd|
              yield pidfd
            rescue Errno::ESRCH, Errno::EPERM # it has ended, or has become another user
              next
            end
          end
        end
      end
    end
  end
end
