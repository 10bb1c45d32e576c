# frozen_string_literal: true

# What molds report over their channels, passed on to whom it concerns: their own progress to the
# supervisor or to their trial, births and ends of nodes to the NodePool.
#
#   reports = MoldMessages.new(supervisor, launcher, events:)
#   reports.hear(mold, frame)
#
# It is for molds what NodeMessages is for nodes.
module Skep
  class Swarm
    module Molds
      class MoldMessages
        #: (Supervisor, untyped, events: Runtime::EventBus) -> void
        def initialize(supervisor, launcher, events:)
          @supervisor = supervisor
          @launcher = launcher
          @events = events
        end

        def hear(mold, frame) #: (Mold, IPC::Channel::Message) -> void
          case frame.type
          when "loaded" then loaded(mold, frame.facts) if mold.state == :loading
          when "refused" then refused(mold, frame["sentence"], frame["exit_code"])
          when "ready" then ready(mold, frame) unless mold.ready?
          when "forked" then forked(frame)
          when "fork_failed" then node_pool.fork_failed(frame["page_index"], frame["error"])
          when "exited"
            exit = IPC::ExitStatus.from(frame.facts)
            node_pool.node_exited(frame["page_index"], frame["pid"], exit)
          end
        end

        private

        def node_pool = @supervisor.node_pool

        # A node's pidfd is known unless it is gone again. One that we have no descriptor for can't
        # be kept: its channel closes, and so it ends.
        def forked(frame)
          pidfd = pidfd(frame)
          @supervisor.leader(frame["pid"])
          node_pool.node_forked(frame["page_index"], frame["pid"], pidfd)
        rescue Errno::EMFILE, Errno::ENFILE => e
          node_pool.fork_failed(frame["page_index"], e.message)
        end

        def pidfd(frame)
          return OS::Pidfd.adopt(frame.ios.first, frame["pid"]) if frame.ios.any?

          OS::Pidfd.open(frame["pid"])
        rescue Errno::ESRCH # gone and reaped already: the mold says how right after
          nil
        end

        def loaded(mold, plain)
          mold.events = plain["events"]
          @supervisor.loaded(mold, plain) if mold.trial.nil? || mold.trial.loaded(plain)
        end

        def refused(mold, sentence, exit_code)
          unless @supervisor.booted?
            return @supervisor.fail(sentence, ExitCode.of_boot([exit_code]))
          end

          @events.publish(:mold_load_failed, mold, level: :error, message: sentence)
          mold.trial&.drop(sentence)
          mold.kill
        end

        def ready(mold, frame)
          mold.ready
          @events.publish(:mold_ready, mold, seconds: frame["seconds"].round(3))
          frame["findings"].each do |finding|
            @events.publish(:fork_guard, mold, level: :warn, message: finding)
          end
          warmed(mold, frame)
          node_pool.pass_on_events if frame["passes_on"]
          mold.trial ? mold.trial.ready : @supervisor.mold_ready(mold)
        end

        # A step that was asked for and couldn't be done is worth a word.
        def warmed(mold, frame)
          reshare = @supervisor.config.reshare
          refused = reshare && frame["warmup"]["reshare"].to_s.start_with?("skipped")
          level = refused ? :warn : :debug
          steps = frame["warmup"].transform_keys(&:to_sym)
          @events.publish(:mold_warmed, mold, level:, slots: frame["slots"], **steps)
          @launcher.warmed(slots: frame["slots"], reshare:)
        end
      end
    end
  end
end
