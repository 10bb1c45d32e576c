# frozen_string_literal: true

# What makes a Supervisor go on as another program in the same process (Upgrade): what it writes
# down for that one, and how that one begins.
#
#   supervisor.hand_over(Handover.new)      # => the file in which it is
#   code = supervisor.resume(handover)      # in place of `run`
module Skep
  class Swarm
    module Upgradable
      # Goes on where another program of this process was; not in a trial, which only shows that it
      # could. What it can't take over ends as it would with any dead supervisor.
      def resume(handover) #: (Handover) -> Integer
        take_over(handover)
        return 0 if handover.trial?

        announce(handover)
        keep_on {}
      end

      # Why no other program can go on in its place.
      def rooted #: () -> String?
        "it runs within a program of its own: start that anew" if @origin.program? || !arguments
      end

      # Has a signal come that isn't obeyed yet?
      def signalled? = @office.signalled? #: () -> bool

      # Writes down all that the next program must know.
      def hand_over(handover, trial: false) #: (Handover, ?trial: bool) -> File
        handover.write({
          "started_at" => started_at, "state" => state, "plain" => @plain,
          "signals" => handover.signals.map { |io| handover.lend(io) },
          "sockets" => Sockets.ios.map { |io| handover.lend(io) }, **@premises.keep(handover),
          "places" => @manager.seats.map { |seat| [seat.id, seat.task] },
          "foundry" => @foundry.keep(handover), "manager" => @manager.keep(handover),
          "observers" => @observers.keep(handover)
        }, trial:)
      end

      private

      def take_over(handover)
        open
        Sockets.shut
        @office.take_over(handover)
        @started_at, @plain = handover["started_at"], handover["plain"]
        @course.recall(handover["state"])
        @config = read(@plain)
        inherit(handover)
        Resumption.new(self, @manager, @foundry, handover).begin
      end

      # A trial learns whether it would come to that.
      def inherit(handover)
        raise Skep::Error, "#{file}: #{config.errors.first}" unless config.valid?

        @premises = Premises.new(config)
        @premises.inherit(handover)
        appoint(kept: handover["places"])
      end

      def announce(handover)
        entitle
        @observers.resumed(self, handover)
        emit(:upgrade_done, :info,
             { pid: Process.pid, skep: VERSION, ruby: RUBY_VERSION, from: handover["skep"],
               seconds: (OS.now - handover["written_at"]).round(3) })
        loop.after(0) { reap } # those whose end nobody heard of
      end
    end
    private_constant :Upgradable
  end
end
