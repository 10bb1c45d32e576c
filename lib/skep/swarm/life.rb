# frozen_string_literal: true

# The life of a node, told from inside: from the instant after the fork to its exit status.
#
#   fork { exit Life.new(swarm, birth, channel:, …).live }
#
# | it ended because | status |
# |---|---|
# | the work returned, or it was told to stop | 0 |
# | the work or on_boot raised | 1 |
# | it was forced by a signal sent to the node itself | 2 |
# | its supervisor died | 3 |
module Skep
  class Swarm
    class Life
      SIGNALS = %w[TERM INT QUIT TSTP TTIN].freeze
      LAST_WORDS_SECONDS = 1.0
      DROPPABLE = %w[event work unhealthy healthy].freeze
      private_constant :LAST_WORDS_SECONDS, :DROPPABLE

      # birth: "node", "mold" and "task" numbers, no task for the helper, neither for a "spare";
      # control: one that serves nobody yet.
      def initialize(swarm, birth, channel:, page:, cells:, config:, control:)
        @swarm, @birth, @channel, @config = swarm, birth, channel, config
        @control = control
        @pid = Process.pid
        @dropped = 0
        @child = Child.new(id: birth["node"], slot: birth["slot"], swarm: swarm.name,
                           mold: birth["mold"], page:, cells:, report: method(:report),
                           beat_every: config.liveness_timeout / Liveness::BEATS,
                           placed: birth["placed"], warm_after: config.refork_after,
                           suspects: birth["suspects"], stop_timeout: config.stop_timeout)
        @page, @cells = page, cells
        listen_to(swarm.listeners) if helper?
      end

      # Lives it and returns the exit status.
      def live #: () -> Integer
        take_control
        status = attempt { Identity.new(@config).assume && (helper? ? listen : work) }
        report("leaving", {})
        run_exit_hooks
        forked? ? status : finish(status)
      end

      private

      def take_control
        prepare_seat
        @control.serve(@child, @channel) { |frame| overhear(frame) }
        take_seat
      end

      def take_seat
        ENV["SKEP_NODE_ID"] = @child.id&.to_s
        Sockets.announce
        entitle
        @tenure&.begin
      end

      def prepare_seat
        shared = { page: @page, cells: @cells, report: method(:report) }
        return @standby = Standby.new(@child, @birth, **shared) if spare?
        return if helper? || @config.spares.zero? || !OS::Locks.supported?

        @tenure = Tenure.new(@child, **shared)
      end

      def entitle
        return unless @config.title

        Process.setproctitle("skep #{@swarm.name} #{role} (mold #{@child.mold})")
      end

      def role
        return "helper" if helper?

        @child.id ? "node #{@child.id}" : "spare"
      end

      def work
        @swarm.__hooks(:on_boot).each { |hook| hook.call(@child) }
        OS::Lifeline.renew # a hook may have changed user or taken the handler's place
        task = spare? ? step_in : @birth["task"]
        @swarm.tasks.fetch(task).run(@child) unless @child.stopping?
      end

      # Returns true in a process that the work forked without a block and that has returned from
      # there. It is no node: it runs no exit path of the node's and writes nothing to its channel.
      def forked? = Process.pid != @pid

      def run_exit_hooks
        return if helper? || forked?

        attempt { @swarm.__hooks(:on_exit).each { |hook| hook.call(@child) } }
      end

      def finish(status)
        become_mold if status.zero? && @child.__calling && !@control.orphaned?
        @control.flush(LAST_WORDS_SECONDS)
        @control.orphaned? ? Control::ORPHANED : status
      end

      # Returns only where it can't be one.
      def become_mold
        number, socket = @child.__calling
        signals, ancestry = @control.signals, @control.ancestry
        @tenure&.end
        [@control, @child].each(&:leave)
        finding = Caster.unsafe(except: [socket, @channel, signals, *ancestry.supervisor]).first
        return report("unfit", { "sentence" => finding }) if finding

        part
        Caster.take_over(Channel.new(socket), swarm: @swarm, number:, config: @config, page: @page,
                                              cells: @cells, signals:, ancestry:)
      end

      # It is a node no more.
      def part
        report("became_mold", {})
        @control.flush(LAST_WORDS_SECONDS)
        @channel.close
        ENV.delete("SKEP_NODE_ID")
      end

      # As a spare: waits for a seat.
      def step_in
        @standby.wait.tap { entitle }
      end

      def spare? = @birth["spare"]
      def helper? = @birth["task"].nil? && !spare?

      # What the control thread leaves to others.
      def overhear(frame)
        case frame.type
        when "measure" then Weighing.leave(@page, @cells.memory(@birth["slot"]))
        when "chaos" then Mischief.do(frame["order"], frame["bytes"]) if @config.chaos
        else (@listener || @standby)&.hear(frame)
        end
      end

      def listen_to(listeners)
        @listener = Listener.new(listeners, @child, line: Line.new(method(:report)))
      end

      def listen = @listener.run

      def attempt
        yield
        0
      rescue Exception => e # the user's work may raise anything; the supervisor must hear what
        raise if forked?

        status_of(e)
      end

      def status_of(error)
        case error
        when BootError
          failed(Plain.message(error), { "refused" => !@child.__ready?,
                                         "exit_code" => ExitCode.of_error(error) })
        when SystemExit then error.status
        else
          failed(Plain.error(error), { "backtrace" => (error.backtrace || []).first(20) })
        end
      end

      # Tells of a failure and returns the exit status for it.
      def failed(sentence, facts)
        report("failed", { "sentence" => sentence, **facts })
        1
      end

      # What a full channel made us drop is told as soon as something fits again.
      def report(type, facts, at_once: true)
        return if forked?

        may_drop = DROPPABLE.include?(type)
        sent = @control.send(type, facts, may_drop:, at_once:)
        return @dropped += 1 if may_drop && !sent
        return if @dropped.zero?

        dropped, @dropped = @dropped, 0
        report("event", { "name" => "events_dropped", "level" => "warn",
                          "facts" => { "count" => dropped } })
      end
    end
  end
end
