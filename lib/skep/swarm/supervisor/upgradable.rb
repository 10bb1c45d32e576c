# frozen_string_literal: true

# What makes a Supervisor go on as another program in the same process (Upgrade): what it writes
# down for that one, and how that one begins.
#
#   supervisor.hand_over(StateFile.new)    # => the file in which it is
#   code = supervisor.resume(state_file)   # in place of `run`
module Skep
  class Swarm
    class Supervisor
      module Upgradable
        # Goes on where another program of this process was; not in a trial, which only shows that
        # it could. What it can't take over ends as it would with any dead supervisor.
        def resume(state_file) #: (Upgrade::StateFile) -> Integer
          take_over(state_file)
          return 0 if state_file.trial?

          announce(state_file)
          keep_on {}
        end

        # Why no other program can go on in its place.
        def rooted #: () -> String?
          "it runs within a program of its own: start that anew" if @launcher.program? || !arguments
        end

        # Has a signal come that isn't obeyed yet?
        def signalled? = @process_setup.signalled? #: () -> bool

        # Writes down all that the next program must know.
        def hand_over(state_file, trial: false) #: (Upgrade::StateFile, ?trial: bool) -> File
          state_file.write({
            "started_at" => started_at, "state" => state, "plain" => @plain,
            "signals" => state_file.signals.map { |io| state_file.lend(io) },
            "sockets" => Runtime::SocketActivation.ios.map { |io| state_file.lend(io) },
            **@resources.dump(state_file),
            "places" => @node_pool.slots.map { |slot| [slot.id, slot.task] },
            "mold_pool" => @mold_pool.dump(state_file), "node_pool" => @node_pool.dump(state_file),
            "observers" => @observers.dump(state_file)
          }, trial:)
        end

        private

        def take_over(state_file)
          open
          Runtime::SocketActivation.shut
          @process_setup.take_over(state_file)
          @started_at, @plain = state_file["started_at"], state_file["plain"]
          @lifecycle.restore(state_file["state"])
          @config = read(@plain)
          inherit(state_file)
          Upgrade::Restore.new(self, @node_pool, @mold_pool, state_file).begin
        end

        # A trial learns whether it would come to that.
        def inherit(state_file)
          raise Skep::Error, "#{file}: #{config.errors.first}" unless config.valid?

          @resources = Resources.new(config)
          @resources.inherit(state_file)
          appoint(kept: state_file["places"])
        end

        def announce(state_file)
          entitle
          @observers.resumed(self, state_file)
          events.publish(:upgrade_finished, pid: Process.pid, skep: VERSION, ruby: RUBY_VERSION,
                                            from: state_file["skep"],
                                            seconds: (OS.now - state_file["written_at"]).round(3))
          loop.after(0) { reap } # those whose end nobody heard of
        end
      end
    end
  end
end
