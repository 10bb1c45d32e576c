# frozen_string_literal: true

# Serves the supervisor from a warm mold: forks nodes on request, reaps them, and reports both,
# until its channel ends.
#
#   fork_server = ForkServer.new(swarm, config, number: 2, channel:, signals:, orphan_guard:,
#                                finalizers:, page:, layout:)
#   fork_server.run     # returns when the supervisor has released the mold
#
# One child is forked ahead (PreforkedChild). If the supervisor dies, the mold stays until its nodes
# have ended. A child keeps no descriptor of the mold's or of its siblings'. What it does then is
# NodeMain's; a node that becomes a mold continues in MoldMain.
module Skep
  class Swarm
    module Processes
      class ForkServer
        # So long the supervisor can see itself how a child has failed (OS::Pidfd#failure).
        SHOWN_SECONDS = 0.01
        private_constant :SHOWN_SECONDS

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
          @children.each_key { |pidfd| pidfd.wait(timeout: 0) }
          @preforked_child.discard
          OS::ProcessTree::ProcessGroup.kill_others
        end

        private

        # A released mold leaves at once. Otherwise its supervisor is dead.
        def channel_ended
          return @loop.stop if @released || @children.empty?

          end_orphaned_nodes
          @preforked_child.discard # waits for its end
        end

        # Each node stops itself. Those that don't are killed at orphan_timeout, with all processes
        # of their group. If the mold left at once, a node that has executed another program would
        # stay, and so would the processes of a node that dies at that moment. If the mold is killed
        # all the same, each node ends itself (OS::ProcessTree::ParentDeathWatch).
        def end_orphaned_nodes
          @orphaned = true
          @orphan_guard.extend_patience
          each_child { |pidfd| pidfd.signal(:CONT) } # a stopped process can't finish its batch
          @loop.after(@orphan_guard.patience) { each_child { |pidfd| kill(pidfd) } }
        end

        # Its channel has closed, so it should end by itself.
        def end_child(pid)
          @loop.after(@config.longest(:stop_timeout)) do
            each_child { |pidfd| kill(pidfd) if pidfd.pid == pid }
          end
        end

        def kill(pidfd)
          pidfd.signal(:KILL) # its group may still be the mold's
          pidfd.signal(:KILL, group: true)
        end

        def each_child
          @children.each_key do |pidfd|
            yield pidfd
          rescue Errno::ESRCH, Errno::EPERM # it has ended, or has become another user
            next
          end
        end

        def handle(frame)
          reap_traced
          case frame.type
          when "fork" then fork_node(frame)
          when "end" then end_child(frame["pid"])
          when "ping" then @link.post("pong")
          when "retire" then retire
          when "leave" then @released = true
          end
        end

        def fork_node(frame)
          raise Errno::EMFILE, "for a node's channel" if frame.ios.empty?

          follow(frame["page_index"], @preforked_child.take(frame) || forked(frame))
        rescue SystemCallError => e # EAGAIN, ENOMEM, EMFILE: NodePool#fork_failed
          @link.post("fork_failed", { "page_index" => frame["page_index"], "error" => e.message })
        ensure
          frame.ios.each(&:close)
          @preforked_child.soon unless @retired
        end

        # It forks nothing more but what was asked for before.
        def retire
          @retired = true
          @preforked_child.discard
        end

        def report_stuck(pid) = @link.post("preforked_stuck", { "pid" => pid })

        def forked(frame)
          OS::ProcessTree::ForkProbe.check
          pid = fork { |control| live(frame, control) }
          frame.ios.each(&:close) # so that there is a descriptor for the pidfd
          OS::Pidfd.open(pid).tap(&:to_io) # the fallback needs one more
        rescue SystemCallError
          Process.detach(pid) if pid # its channel ends, and so does it
          raise
        end

        def follow(page_index, pidfd)
          lend = OS::Pidfd.native? ? [pidfd.to_io] : []
          @link.post("forked", { "page_index" => page_index, "pid" => pidfd.pid }, lend:)
          @children[pidfd] = @loop.watch(pidfd.to_io) { ended(page_index, pidfd) }
        end

        def ended(page_index, pidfd)
          return reap(page_index, pidfd) unless pidfd.failure

          @children[pidfd].cancel
          @loop.after(SHOWN_SECONDS) { reap(page_index, pidfd) }
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
            Process.fork { Process.exit(yield(control)) }
          end
        end

        # In a child, from here to its end.

        # What is the mold's is closed first: a child of a mold without free descriptors needs them.
        # Where it still can't begin, that isn't the application's fault: trying again may help.
        def control
          @orphan_guard.adopt_as_node
          [@signals, @preforked_child].each(&:close_in_child)
          [@loop, @channel].each(&:close)
          [*@children.keys, *@unreaped].each(&:close)
          signals = Runtime::SelfPipe.new(NodeMain::SIGNALS, inherited: @signals,
                                          unless_handled: NodeMain::SUPERVISOR_SIGNALS)
          @finalizers.disarm
          Processes::ControlThread.new(signals:, orphan_guard: @orphan_guard,
                                    orphan_timeout: @config.orphan_timeout).start
        rescue SystemCallError, ThreadError => e # no descriptor, no memory, no thread
          why = (OS::Refused.of(e) if e.is_a?(SystemCallError)) || e
          warn("skep: a process of #{@swarm.name} could not begin: #{why.message}")
          Process.exit!(ExitCode::UNAVAILABLE)
        end

        # Returns the exit status of a node.
        def live(frame, control)
          socket, *pages = frame.ios
          channel = IPC::Channel.new(socket)
          node = Processes::NodeMain.new(@swarm, frame.facts, channel:, config: @config, control:,
                                                           pages:, **@shared)
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
          live(frame, control)
        end
      end
    end
  end
end
