# frozen_string_literal: true

# A mold's children as it sees them: forked when they are wanted, followed by their pidfds, reaped
# when they have ended, and all of it told to the supervisor.
#
#   fork_server = ForkServer.new(swarm, config, loop:, channel:, link:, signals:, …) { … }
#   fork_server.fork_node(frame)   # tells: forked and the pidfd, exited …, or fork_failed …
#   fork_server.any?               # is one still there?
#   fork_server.reap_held          # tries again to reap those that a debugger held when they ended
#   fork_server.orphaned           # the supervisor is dead: sees them to their end, stops the loop
#   fork_server.discard            # who was forked ahead and is nobody yet isn't wanted any more
#
# A child keeps nothing of the mold's or of its siblings'. What it does then is told by NodeMain.
module Skep
  class Swarm
    module InMold
      class ForkServer
        # loop, channel, signals: the mold's own; link: the channel, served by the loop; life: what
        # each NodeMain needs too, the page and its cells; finalizers: what no child is to destroy.
        # The block names a process by its role.
        def initialize(swarm, config, loop:, channel:, link:, signals:, orphan_guard:, finalizers:,
                       **life, &entitle)
          @swarm, @config, @life = swarm, config, life
          @loop, @channel, @link = loop, channel, link
          @signals, @orphan_guard, @finalizers = signals, orphan_guard, finalizers
          @entitle = entitle
          @children = {}
          @held = []
          @preforked_child = PreforkedChild.new(loop) do |order|
            fork { |control| wait_and_live(order, control) }
          end
        end

        def any? = @children.any? #: () -> bool

        # The kernel lets nobody reap a process whose tracer hasn't waited for it. No event tells
        # when that is over: called whenever the supervisor says something, its roll call at the
        # latest.
        def reap_held #: () -> void
          @held.reject! { |pidfd| reaped?(pidfd) && !pidfd.close }
        end

        def discard = @preforked_child.discard #: () -> void

        def fork_node(frame) #: (IPC::Channel::Message) -> void
          socket = frame.ios.first or raise Errno::EMFILE, "for a node's channel"
          follow(frame["page_index"], @preforked_child.take(frame, socket) || born(frame, socket))
        rescue SystemCallError => e # EAGAIN, ENOMEM, EMFILE: the supervisor will try again
          @link.post("fork_failed", { "page_index" => frame["page_index"], "error" => e.message })
        ensure
          socket&.close
          @preforked_child.soon
        end

        def orphaned #: () -> void
          @orphaned = true
          discard
          OrphanedNodes.new(@loop, @children, @orphan_guard).take_over
        end

        private

        def born(frame, socket)
          OS::ProcessTree::ForkProbe.check
          pid = fork { |control| live(frame, socket, control) }
          socket.close # in its place the pidfd finds room
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
          status.is_a?(OS::Pidfd::UnknownStatus) ? @held << pidfd : pidfd.close
          @loop.stop if @orphaned && @children.empty?
        end

        def reaped?(pidfd)
          pidfd.wait(timeout: 0).is_a?(Process::Status) || !Process.getpgid(pidfd.pid)
        rescue Errno::ESRCH # by somebody else
          true
        end

        def fork
          Runtime::SelfPipe.with_inherited_handlers do
            Process.fork do
              signals = Runtime::SelfPipe.new(InNode::NodeMain::SIGNALS, inherited: @signals)
              @orphan_guard.adopt_as_node
              [@signals, @preforked_child].each(&:disown)
              [@loop, @channel].each(&:close)
              OS::Pidfd.abandon(@children.keys + @held)
              Process.exit(yield(control(signals)))
            end
          end
        end

        # In a child, from here to its end.
        def control(signals)
          @finalizers.disarm
          InNode::ControlThread.new(signals:, orphan_guard: @orphan_guard,
                                    orphan_timeout: @config.orphan_timeout).start
        end

        def live(frame, socket, control)
          InNode::NodeMain.new(@swarm, frame.facts, channel: IPC::Channel.new(socket), control:,
                                                    config: @config, mold_main: MoldMain,
                                                    **@life).live
        end

        # The same for one that was forked ahead.
        def wait_and_live(socket, control)
          @entitle.call("preforked")
          frame = PreforkedChild.told(order = IPC::Channel.new(socket), control.signals)
          order.close
          live(frame, frame.ios.first, control)
        end
      end

      # What a mold does for its nodes once its supervisor is dead: it sees them to their end.
      #
      #   OrphanedNodes.new(loop, children, orphan_guard).take_over    # children: by pidfd
      #
      # Those that can't end by themselves are killed in time, with what they have started. Were the
      # mold to go at once, a node that has been executed anew would stay, as would what a node that
      # dies in that moment leaves behind. If it is killed all the same, each node ends itself
      # (OS::ProcessTree::ParentDeathWatch).
      class OrphanedNodes
        # children: whoever reaps one takes it out.
        #: (OS::EventLoop, Hash, Runtime::OrphanGuard) -> void
        def initialize(loop, children, orphan_guard)
          @loop = loop
          @children = children
          @orphan_guard = orphan_guard
        end

        def take_over #: () -> void
          @orphan_guard.extend_patience
          each { |pidfd| pidfd.signal(:CONT) } # who is stopped can't finish its batch
          @loop.after(@orphan_guard.patience) { each { |pidfd| kill(pidfd) } }
        end

        private

        # A group that it doesn't lead yet is ours.
        def kill(pidfd)
          pidfd.signal(:KILL)
          pidfd.signal(:KILL, group: true)
        end

        def each
          @children.each_key do |pidfd|
            yield pidfd
          rescue Errno::ESRCH, Errno::EPERM # it went by itself first; or it has become another user
            next
          end
        end
      end
    end
  end
end
