# frozen_string_literal: true

# One node's work in the foreground, without a fork: for development and debuggers.
#
#   code = InlineRunner.new("swarm.rb", observers: [Log::EventLog.new]).run
#
# Signals do what they do in a node. A failure is shown and ends it with exit code 1: nothing
# restarts the work.
module Skep
  class Swarm
    module Processes
      class InlineRunner
        attr_reader :failures
        attr_reader :config

        # work: the name of the work to run; nil: the file's first.
        def initialize(file, overrides: {}, observers: [], work: nil)
          @file = file
          @overrides = Definition::EnvironmentOptions.read.merge(overrides)
          @observers = observers
          @name = work
          @failures = []
        end

        def run
          Signal.trap("XFSZ") {} # a log at the limit of its size (ulimit -f) only loses lines
          return ExitCode::CONFIGURATION unless prepare

          @swarm.__preload
          @swarm.__warnings.each { |warning| publish("work_warning", :warn, { warning: }) }
          take_control
          attempt { work }
        rescue Skep::Error => e
          @failures << IPC::PlainData.message(e)
          ExitCode.of_error(e)
        end

        private

        def prepare
          @swarm = Definition::Loader.new(@file).swarm
          plain = @swarm.__to_plain
          @config = Definition::Config.new(plain["name"], plain["options"].merge(@overrides),
                                           tasks: plain["tasks"])
          @failures.concat(config.errors.map { |sentence| "#{@file}: #{sentence}" })
          return false unless config.valid? && find_work

          @observers.each { |observer| observer.start(config) if observer.respond_to?(:start) }
          true
        end

        def find_work
          @work = config.works.find { |one| [nil, one.name].include?(@name) } and return true

          names = config.works.map(&:name).join(", ")
          @failures << "#{@file}: there is no work #{@name.inspect}, but #{names}"
          false
        end

        def take_control
          layout = IPC::Scoreboard::Layout.new(nodes: 1, threads: config.threads)
          @node = Node.new(id: 0, swarm: @swarm.name, mold: 0, work_name: @work.name,
                           page: OS::SharedPage.create(layout.total), layout:,
                           report: method(:report),
                           beat_every: @work.beats_within / Health::LivenessPolicy::BEATS,
                           on_error: @swarm.__hooks(:on_error),
                           revision: config.revision || Definition::Revision.found(@file))
          @other_end, theirs = IPC::Channel.pair
          ControlThread.new(signals: Runtime::SelfPipe.new(NodeMain::SIGNALS),
                            orphan_timeout: config.orphan_timeout)
                       .start.serve(@node, IPC::Channel.new(theirs))
          ENV["SKEP_NODE_ID"] = "0"
        end

        def work
          @swarm.__hooks(:on_boot).each { |hook| hook.call(@node) }
          @swarm.tasks.fetch(@work.number).run(@node, around: @swarm.__hooks(:around_handler))
        rescue UserError => e
          failed(e)
          raise
        ensure
          @swarm.__hooks(:on_exit).each { |hook| hook.call(@node) }
        end

        # A block of on_error may never return, so the error is logged before.
        def failed(error)
          unless @swarm.__hooks(:on_error).empty?
            publish("node_failed", :error, { error: IPC::PlainData.error(error) })
          end
          @node.__failed(error)
        end

        def attempt
          yield
          ExitCode::OK
        rescue BootError => e
          @failures << "#{@file}: #{IPC::PlainData.message(e)}"
          ExitCode.of_error(e)
        end

        def report(type, facts)
          case type
          when "event" then publish(facts["name"], facts["level"], facts["facts"])
          when "ready" then publish("node_ready", :info, {})
          when "unhealthy" then publish("node_unhealthy", :warn, { error: facts["reason"] })
          when "healthy" then publish("node_healthy", :info, {})
          when "assigned"
            publish(facts["assigned"] ? "node_assigned" : "node_unassigned", :info, facts["facts"])
          end
        end

        def publish(name, level, facts)
          facts = IPC::PlainData.of({ node: 0, pid: Process.pid, **facts.transform_keys(&:to_sym) })
          @observers.each { |observer| observer.event(name.to_s, level, facts) }
        end
      end
    end
  end
end
