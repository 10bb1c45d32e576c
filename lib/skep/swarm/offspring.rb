# frozen_string_literal: true

# A mold's children as it sees them: forked when they are wanted, followed by their pidfds, reaped
# when they have ended, and all of it told to the supervisor.
#
#   offspring = Offspring.new(swarm, config, loop:, channel:, link:, signals:, ancestry:, …) { … }
#   offspring.cast(frame)     # tells: forked {slot, pid} + pidfd, exited …, or fork_failed …
#   offspring.any?            # is one still there?
#   offspring.reap_held       # tries again to reap those that a debugger held when they ended
#   offspring.orphaned        # the supervisor is dead: sees them to their end, stops the loop
#   offspring.discard         # who was forked ahead and is nobody yet isn't wanted any more
#
# A child keeps nothing of the mold's or of its siblings'. What it does then is told by Life.
module Skep
  class Swarm
    class Offspring
      # loop, channel, signals: the mold's own; link: the channel, served by the loop; life: what
      # each Life needs too, the page and its cells; finalizers: what no child is to destroy. The
      # block names a process by its role.
      def initialize(swarm, config, loop:, channel:, link:, signals:, ancestry:, finalizers:,
                     **life, &entitle)
        @swarm, @config, @life = swarm, config, life
        @loop, @channel, @link = loop, channel, link
        @signals, @ancestry, @finalizers = signals, ancestry, finalizers
        @entitle = entitle
        @children = {}
        @held = []
        @blank = Blank.new(loop) { |order| fork { |control| wait_and_live(order, control) } }
      end

      def any? = @children.any? #: () -> bool

      # The kernel lets nobody reap a process whose tracer hasn't waited for it. No event tells when
      # that is over: called whenever the supervisor says something, its roll call at the latest.
      def reap_held #: () -> void
        @held.reject! { |pidfd| reaped?(pidfd) && !pidfd.close }
      end

      def discard = @blank.discard #: () -> void

      def cast(frame) #: (Channel::Frame) -> void
        socket = frame.ios.first or raise Errno::EMFILE, "for a node's channel"
        follow(frame["slot"], @blank.take(frame, socket) || born(frame, socket))
      rescue SystemCallError => e # EAGAIN, ENOMEM, EMFILE: the supervisor decides when to try again
        @link.send("fork_failed", { "slot" => frame["slot"], "error" => e.message })
      ensure
        socket&.close
        @blank.soon
      end

      def orphaned #: () -> void
        @orphaned = true
        discard
        Guardian.new(@loop, @children, @ancestry).take_over
      end

      private

      def born(frame, socket)
        OS::Headroom.check
        pid = fork { |control| live(frame, socket, control) }
        socket.close # in its place the pidfd finds room
        OS::Pidfd.open(pid)
      rescue SystemCallError
        Process.detach(pid) if pid # its channel ends, and so does it
        raise
      end

      def follow(slot, pidfd)
        lend = OS::Pidfd.native? ? [pidfd.to_io] : []
        @link.send("forked", { "slot" => slot, "pid" => pidfd.pid }, lend:)
        @children[pidfd.hold] = @loop.watch(pidfd.to_io) { reap(slot, pidfd) }
      end

      def reap(slot, pidfd)
        Remains.of(pidfd)
        status = pidfd.wait(timeout: 0) or return

        @children.delete(pidfd).cancel
        @link.send("exited", { "slot" => slot, "pid" => pidfd.pid, **Exit.of(status).to_plain })
        status.is_a?(OS::Pidfd::Unknown) ? @held << pidfd : pidfd.close
        @loop.stop if @orphaned && @children.empty?
      end

      def reaped?(pidfd)
        pidfd.wait(timeout: 0).is_a?(Process::Status) || !Process.getpgid(pidfd.pid)
      rescue Errno::ESRCH # by somebody else
        true
      end

      def fork
        Signals.hand_on do
          Process.fork do
            signals = Signals.new(Life::SIGNALS, inherited: @signals)
            @ancestry.settle
            [@signals, @blank].each(&:disown)
            [@loop, @channel].each(&:close)
            OS::Pidfd.abandon(@children.keys + @held)
            Process.exit(yield(control(signals)))
          end
        end
      end

      # In a child, from here to its end.
      def control(signals)
        @finalizers.disarm
        Control.new(signals:, ancestry: @ancestry, orphan_timeout: @config.orphan_timeout).start
      end

      def live(frame, socket, control)
        Life.new(@swarm, frame.facts, channel: Channel.new(socket), config: @config, control:,
                                      **@life).live
      end

      # The same for one that was forked ahead.
      def wait_and_live(socket, control)
        @entitle.call("blank")
        frame = Blank.told(order = Channel.new(socket), control.signals)
        order.close
        live(frame, frame.ios.first, control)
      end
    end
    private_constant :Offspring
  end
end
