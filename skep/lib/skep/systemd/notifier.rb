# frozen_string_literal: true

# Notifies systemd of the swarm's state, if systemd asks for it (Type=notify, WatchdogSec=).
#
#   Notifier.new(env: ENV)    # removes NOTIFY_SOCKET and WATCHDOG_* from it
#
# | when | message |
# |---|---|
# | StatusLine.booted? is true for the first time | READY=1 |
# | a restart or reload starts; it has finished | RELOADING=1; READY=1 |
# | the swarm stops | STOPPING=1 |
# | StatusLine has changed, once a second at most | STATUS=… |
# | half of the watchdog's timeout has passed (Watchdog) | WATCHDOG=1 |
#
# A missing or slow receiver costs the swarm nothing. sd_notify(3), docs/guides/systemd.md.
module Skep
  module Systemd
    class Notifier < Swarm::Supervisor::Observer
      INTERVAL = 1.0 # between two STATUS
      MARGIN = 10.0 # seconds, beyond the swarm's own limits
      CHANGE = /\A(restart|reload)_(started|finished|failed|refused)\z/
      private_constant :INTERVAL, :MARGIN, :CHANGE

      def initialize(env: ENV, pid: Process.pid)
        super()
        @address = env.delete("NOTIFY_SOCKET")
        @watchdog = Watchdog.from(env, pid:)
        @notified_at = 0.0
      end

      def configured(supervisor)
        @supervisor = supervisor
        @loop = supervisor.loop
        return unless @address && !@address.empty?

        @writer = Log::DatagramWriter.new(@address)
        @writer.loop = @loop
        @watchdog&.start(supervisor) { |ping| @writer.write(ping) unless @writer.pending? }
        update
      end

      def event(name, _level, facts)
        return unless @writer

        # A work may give an event of its own that name; such an event has a node.
        change, step = name.match(CHANGE)&.captures unless facts.key?(:node)
        notify_change(change, step, facts) if change && @ready
        update_at(urgent? ? OS.now : @notified_at + INTERVAL)
      end

      def close_in_child = @writer&.close_in_child

      def on_close
        return unless @writer

        notify
        @writer.close
      end

      private

      def notify_change(change, step, facts)
        return notify_refusal(change) if step == "refused"

        @in_progress = step == "started" ? change : nil
        @failure = step == "failed" ? "the last #{change} failed: #{facts[:error]}" : nil
        @in_progress ? notify_reloading : notify("READY=1")
      end

      # With Type=notify-reload, systemd has sent HUP and waits for both messages.
      def notify_refusal(change)
        return unless change == "reload"

        notify_reloading
        notify("READY=1") unless @in_progress
      end

      def notify_reloading = notify("RELOADING=1", "MONOTONIC_USEC=#{(OS.now * 1e6).to_i}")

      def urgent? = @supervisor.stopping? ? !@stopping : !@ready

      def update_at(due)
        return if @timer&.pending? && @timer.deadline <= due

        @timer&.cancel
        @timer = @loop.at(due) { update }
      end

      def update
        return notify_stopping if @supervisor.stopping? && !@stopping
        return notify_ready if !@ready && !@stopping && StatusLine.booted?(@supervisor)
        return update_at(@notified_at + INTERVAL) if OS.now < @notified_at + INTERVAL

        notify unless @writer.pending? || line == @notified
      end

      def notify_stopping
        @stopping = true
        notify("STOPPING=1")
      end

      def notify_ready
        @ready = true
        notify("READY=1")
      end

      def line = StatusLine.of(@supervisor, in_progress: @in_progress, failure: @failure)

      def notify(*messages)
        @notified, @notified_at = line, OS.now
        text = [*messages, "STATUS=#{@notified}", *extension, *@watchdog&.message].join("\n")
        @writer.write(text)
      end

      # systemd must not end what the swarm's own limits allow.
      def extension
        return if @supervisor.state == :stopped || (@ready && !@in_progress && !@stopping)

        limit = @supervisor.config.longest(:stop_timeout) + MARGIN
        limit += @supervisor.boot_limit unless @stopping
        "EXTEND_TIMEOUT_USEC=#{(limit * 1e6).to_i}"
      end
    end
  end
end
