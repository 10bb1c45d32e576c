# frozen_string_literal: true

# Tells systemd how the swarm is, where it asks for that (Type=notify, WatchdogSec=).
#
#   Notify.new(env: ENV)    # takes NOTIFY_SOCKET and WATCHDOG_* out of it: they are ours alone
#
# | when | it says |
# |---|---|
# | a node is ready, and nobody's first try is awaited | READY=1 |
# | a restart, reload or upgrade begins; is over | RELOADING=1; READY=1 |
# | the swarm stops | STOPPING=1 |
# | the line of Standing has changed, once a second at most | STATUS=… |
# | the supervisor's loop turns (Watchdog) | WATCHDOG=1 |
#
# Nobody who listens, or reads, costs the swarm nothing. sd_notify(3), docs/systemd.md.
module Skep
  module Watch
    class Notify < Swarm::Supervisor::Observer
      PAUSE = 1.0 # between two STATUS
      MORE = 10.0 # seconds beyond what the swarm may take by its own limits
      CHANGE = /\A(restart|reload|upgrade)_(started|finished|failed|refused)\z/
      private_constant :PAUSE, :MORE, :CHANGE

      def initialize(env: ENV, pid: Process.pid) #: (?env: untyped, ?pid: Integer) -> void
        super()
        @address = env.delete("NOTIFY_SOCKET")
        @watchdog = Watchdog.asked(env, pid:)
        @told_at = 0.0
      end

      def configured(supervisor) #: (Swarm::Supervisor) -> void
        take_up(supervisor)
        look if @post
      end

      def event(name, _level, facts) #: (String, Symbol, Hash) -> void
        return unless @post

        # A work may give its own events that name.
        change, step = name.match(CHANGE)&.captures unless facts.key?(:node)
        changed(change, step, facts) if change && @ready
        look_by(urgent? ? OS.now : @told_at + PAUSE)
      end

      def dump(_state_file) #: (Swarm::Rollout::Upgrade::StateFile) -> Hash[String, untyped]
        { "address" => @address, "watchdog" => @watchdog&.seconds, "ready" => @ready }
      end

      def resumed(supervisor, kept, _state_file) #: (Swarm::Supervisor, Hash?, untyped) -> void
        restore(kept) if kept
        take_up(supervisor)
      end

      def disown = @post&.close #: () -> void

      def closed #: () -> void
        return unless @post

        say
        @post.close
      end

      private

      def take_up(supervisor)
        @supervisor = supervisor
        @loop = supervisor.loop
        return unless @address && !@address.empty?

        @post = Post.new(@address)
        @post.loop = @loop
        @watchdog&.begin(supervisor) { |word| @post.put(word) unless @post.waits? }
      end

      def restore(kept)
        @address, @ready = kept.values_at("address", "ready")
        @watchdog = kept["watchdog"]&.then { |seconds| Watchdog.new(seconds) }
      end

      def changed(change, step, facts)
        return refused(change) if step == "refused"

        @under_way = step == "started" ? change : nil
        @failure = step == "failed" ? "the last #{change} failed: #{facts[:message]}" : nil
        @under_way ? reloading : say("READY=1")
      end

      # Who has sent HUP by Type=notify-reload waits for both.
      def refused(change)
        return unless change == "reload"

        reloading
        say("READY=1") unless @under_way
      end

      def reloading = say("RELOADING=1", "MONOTONIC_USEC=#{(OS.now * 1e6).to_i}")

      def urgent? = @supervisor.stopping? ? !@stopping : !@ready

      def look_by(due)
        return if @look&.pending? && @look.deadline <= due

        @look&.cancel
        @look = @loop.at(due) { look }
      end

      def look
        return begin_stop if @supervisor.stopping? && !@stopping
        return begin_work if !@ready && !@stopping && Standing.booted?(@supervisor)
        return look_by(@told_at + PAUSE) if OS.now < @told_at + PAUSE

        say unless @post.waits? || line == @told
      end

      def begin_stop
        @stopping = true
        say("STOPPING=1")
      end

      def begin_work
        @ready = true
        say("READY=1")
      end

      def line = Standing.of(@supervisor, under_way: @under_way, failure: @failure)

      def say(*words)
        @told, @told_at = line, OS.now
        @post.put([*words, "STATUS=#{@told}", *patience, *@watchdog&.word].join("\n"))
      end

      # What takes long by the swarm's own limits isn't to be cut short by systemd's.
      def patience
        return if @supervisor.state == :stopped || (@ready && !@under_way && !@stopping)

        limit = @supervisor.config.stop_timeout + MORE
        limit += @supervisor.boot_limit unless @stopping
        "EXTEND_TIMEOUT_USEC=#{(limit * 1e6).to_i}"
      end
    end
  end
end
