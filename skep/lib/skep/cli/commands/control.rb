# frozen_string_literal: true

require "rbconfig"
require "skep/cli/swarm_command"

# The commands that change a running swarm. Each sends one command to its control socket.
module Skep
  module CLI
    module Commands
      # For commands that wait until it is done: --no-wait. ^C ends only the wait.
      module NoWait
        private

        def perform
          super
        rescue Interrupt
          name = self.class::COMMAND
          err.puts("skep: the swarm continues its #{name}: see `skep status`") if @asked
          raise
        end

        def request(path)
          @asked = true
          super
        end

        def declare(parser)
          super
          parser.on("--no-wait", "return at once") { options[:no_wait] = true }
        end
      end
      private_constant :NoWait

      # For commands that replace nodes: new nodes of a quiet swarm are quiet.
      module StaysQuiet
        STAYS_QUIET = "the swarm stays quiet: `skep resume` lets nodes take new work again"
        private_constant :STAYS_QUIET

        private

        def tell_of_quiet(answer)
          out.puts(STAYS_QUIET) if answer["quiet"]
        end
      end
      private_constant :StaysQuiet

      # Waits as long as the nodes take to finish their work: there is no deadline. It says that the
      # code stays the same, because `restart` loads new code in other servers.
      class Restart < SwarmCommand
        SUMMARY = "Replace all nodes one at a time, on the same code"
        USAGE = "skep restart [NAME] [--node N | --work WORK] [--no-wait]"
        COMMAND = "restart"
        EXAMPLES = ["skep restart", "skep restart billing --no-wait",
                    "skep restart billing --node 3", "skep restart --work web"].freeze
        SAME_CODE = "the code is the same as before: use `skep reload` for new code"
        private_constant :SAME_CODE
        include NoWait
        include StaysQuiet

        private

        def declare(parser)
          super
          parser.on("--node N", Integer, "this node only") { |id| options[:node] = id }
          parser.on("--work WORK", "the nodes of this work only") { |name| options[:work] = name }
        end

        def perform
          return super unless options[:node] && options[:work]

          raise UsageError, "give --node or --work, not both: #{usage}"
        end

        def request(path)
          answer = super
          out.puts("#{options[:no_wait] ? "restarting" : "restarted"}; #{SAME_CODE}")
          tell_of_quiet(answer)
        end

        def facts = { timeout: nil, wait: !options[:no_wait], **options.slice(:node, :work) }
      end

      # The same with new code.
      class Reload < SwarmCommand
        SUMMARY = "Load the swarm file again and replace all nodes if it boots"
        USAGE = "skep reload [NAME] [--no-wait]"
        COMMAND = "reload"
        EXAMPLES = ["skep reload", "skep reload billing"].freeze
        include NoWait
        include StaysQuiet

        private

        def request(path)
          answer = super
          out.puts(options[:no_wait] ? "reloading" : "reloaded: all nodes run the new code")
          tell_of_quiet(answer)
        end

        def facts = { timeout: nil, wait: !options[:no_wait] }
      end

      class Scale < SwarmCommand
        SUMMARY = "Change the number of nodes, or that of each named work"
        USAGE = "skep scale [NAME] N | WORK=N …"
        COMMAND = "scale"
        EXAMPLES = ["skep scale 8", "skep scale billing 2",
                    "skep scale billing orders=6 web=2"].freeze

        private

        def perform
          @facts = works || { nodes: count(arguments.pop) }
          super
        end

        # A swarm's name has no "=".
        def works
          pairs, rest = arguments.partition { |text| text.include?("=") }
          return if pairs.empty?

          arguments.replace(rest)
          pairs = pairs.map { |text| text.split("=", 2) }
          names = pairs.map(&:first)
          twice = names.find { |name| names.count(name) > 1 }
          raise UsageError, "#{twice} is given twice: #{usage}" if twice

          { works: pairs.to_h { |name, text| [name, count(text)] } }
        end

        def count(text)
          raise UsageError, "missing argument: N: #{usage}" unless text

          Integer(text, 10)
        rescue ArgumentError
          raise UsageError, "N must be a whole number, 1 or more (got #{text})"
        end

        def request(path)
          answer = super
          works = answer["works"]
          works = { nil => answer.values_at("from", "to") } unless works.is_a?(Hash)
          works.each { |name, (from, to)| out.puts(UI.clean(result(name, from, to))) }
        end

        def result(work, from, to)
          return "scaled" unless from && to # by a supervisor of an older version

          nodes = [UI::Humanize.counted(to, "node"), *("of #{work}" if work)].join(" ")
          from == to ? "#{nodes} already" : "scaled from #{from} to #{nodes}"
        end

        attr_reader :facts
      end

      class Quiet < SwarmCommand
        SUMMARY = "Stop fetching new work; finish what is in flight"
        USAGE = "skep quiet [NAME]"
        COMMAND = "quiet"
        EXAMPLES = ["skep quiet", "skep quiet billing"].freeze

        private

        def request(path)
          super
          out.puts("quiet: nodes finish what is in flight; `skep resume` ends that")
        end
      end

      # Ends quiet.
      class Resume < SwarmCommand
        SUMMARY = "Take new work again, after `skep quiet`"
        USAGE = "skep resume [NAME]"
        COMMAND = "resume"
        EXAMPLES = ["skep resume", "skep resume billing"].freeze

        private

        def request(path)
          was_quiet = super["was_quiet"]
          out.puts(was_quiet ? "resumed: nodes take new work" : "the swarm was not quiet")
        end
      end

      # Waits until the supervisor has ended. A forced stop has the exit code of `skep run`. That is
      # 0 also if the work of a node failed at its end, which is reported.
      class Stop < SwarmCommand
        SUMMARY = "Stop a swarm and wait until it has ended"
        USAGE = "skep stop [NAME] [--no-wait]"
        COMMAND = "stop"
        EXAMPLES = ["skep stop billing", "skep stop --control /run/skep/billing.sock"].freeze
        include NoWait

        FORCED = "a node was killed during the stop (exit code #{ExitCode::FORCED})"
        NAMED = 5
        private_constant :FORCED, :NAMED

        private

        def perform
          super
          return tell_of_stop unless @last && @last["exit_code"] == ExitCode::FORCED

          err.puts("skep: #{UI.clean(@last["swarm"].to_s)}: #{FORCED}")
          ExitCode::FORCED
        end

        # The exit code is unknown if its last event wasn't received.
        def tell_of_stop
          return 0.tap { out.puts("stopping") } if options[:no_wait]

          code = @last && @last["exit_code"]
          out.puts("#{@name} has stopped#{", exit code #{code}" if code}")
          tell_of_failures if @failed&.any?
          0
        end

        def tell_of_failures
          failed = @failed.first(NAMED).map do |event|
            how = UI::Humanize.exit_reason(event).sub(/\A\d+/, "exit status \\0")
            UI.clean("node #{event["node"]} (#{how})")
          end
          failed << "…" if @failed.size > NAMED
          err.puts("skep: #{@name}: failed while it stopped: #{failed.join(", ")}; " \
                   "node_failed and node_died in the log say how")
        end

        # Waits for a process, which must be the one that answers.
        def request(path)
          return super if options[:no_wait]

          client = Control::Client.new(path)
          status = client.local_status
          @name = UI.clean(status["name"].to_s)
          supervisor = Skep.pidfd(status["pid"])
          events = follow(client)
          super
          follow_to_end(events) if events
          supervisor.wait
        rescue Errno::ESRCH # it has ended meanwhile
          nil
        ensure
          events&.close
          supervisor&.close
        end

        # Returns nil if too many clients follow already.
        def follow(client)
          client.events
        rescue Control::EventsRefused
          nil
        end

        # Waits for the end of the swarm, and keeps its event swarm_stopped, and those of nodes that
        # died meanwhile. There may be none, such as when the supervisor was killed.
        def follow_to_end(events)
          @failed = []
          until events.ended?
            events.to_io.wait_readable
            events.read.each { |event| note(event) }
          end
        rescue Control::InvalidAnswer, SystemCallError
          nil
        end

        def note(event)
          case event["event"]
          when "swarm_stopping" then @failed.clear # they died before
          when "node_died" then @failed << event
          when "swarm_stopped" then @last = event
          end
        end
      end
    end
  end
end
