# frozen_string_literal: true

# A mold's own process: loads the swarm file, preloads the application and warms it up. Then
# ForkServer serves the supervisor until the channel ends.
#
#   ruby -rskep -e Skep::Swarm::Processes::MoldMain.main   # channel: descriptor 3, or the first
#                                             # after those of socket activation
#
# | the supervisor sends | the mold does, and answers |
# |---|---|
# | load | loads its file: loaded, or refused |
# | prepare, with the page | preload, warm, warmup: ready, or refused |
# | fork, with a socket | forked with a pidfd, or fork_failed; when the child has ended: exited |
# | ping | pong |
# | retire | forks nothing ahead any more |
# | leave, and closes the channel | ends. Without `leave` it stays until its nodes have ended |
#
# IPC::Messages has the fields. A mold has no thread of its own, keeps no node's socket, and ends
# with its supervisor.
module Skep
  class Swarm
    module Processes
      class MoldMain
        # See Molds::HeapSizeHint.
        HEAP_SLOTS = "RUBY_GC_HEAP_INIT_SLOTS"
        HEAP_SLOTS_GIVEN = "SKEP_HEAP_SLOTS"

        # The whole program of an executed mold. Its arguments are the swarm file, and the file's.
        def self.main
          clean_environment
          socket = UNIXSocket.for_fd(channel_fd)
          socket.close_on_exec = true
          serve(IPC::Channel.new(socket), file: ARGV.shift)
        end

        # Removes what the launcher has put into the environment for this boot alone.
        def self.clean_environment(env = ENV)
          env.delete(HEAP_SLOTS) if env.delete(HEAP_SLOTS_GIVEN)
        end

        # The descriptors of an executed mold: the sockets that the swarm was started with, then its
        # channel.
        def self.descriptors(socket)
          sockets = activated? ? Runtime::SocketActivation.redirects : {}
          { channel_fd => socket, **sockets }
        end

        # A mold from here to its end. No at_exit hook runs: it did no work.
        def self.serve(channel, swarm: nil, file: nil)
          take_sockets if activated?
          $stdout.sync = true # else a node's output is written a page at a time
          new(channel, swarm:, file:).run
          Process.exit!(0)
        rescue Exception => e # the last word of a process that can't continue
          refused = OS::Refused.of(e)&.message if e.is_a?(SystemCallError)
          refused ||= Definition::Loader.shadowed(file, e)
          sent = refused && channel.post("refused", { "sentence" => refused })
          warn("skep: the mold failed: #{e.full_message(highlight: false)}") unless sent
          Process.exit!(1) # the supervisor sees it
        end

        # Returns a sentence for everything that would break in a child of this process.
        def self.unsafe(except: [])
          Skep::Fork::Guard.check(except:).select(&:breaks?).map do |finding|
            "#{finding.what}, #{finding.where}: #{finding.advice}"
          end
        end

        # A process that was a node continues as a mold, to its end.
        def self.take_over(channel, swarm:, **rest)
          new(channel, swarm:).run_warm(**rest)
          Process.exit!(0)
        rescue Exception => e # the last word, as above
          warn("skep: the mold failed: #{e.full_message(highlight: false)}")
          Process.exit!(1)
        end

        class << self
          private

          def activated? = ENV.key?(Runtime::SocketActivation::COUNT)

          def channel_fd
            Runtime::SocketActivation::FIRST + ENV[Runtime::SocketActivation::COUNT].to_i
          end

          def take_sockets
            Runtime::SocketActivation.shut
            Runtime::SocketActivation.announce
          end
        end

        # A swarm, or the file that describes it.
        def initialize(channel, swarm: nil, file: nil)
          @channel = channel
          @file = file
          @swarm = swarm
        end

        # Serves the supervisor until it closes the channel.
        def run
          @orphan_guard = Runtime::OrphanGuard.new
          @signals = Runtime::SelfPipe.new(NodeMain::SIGNALS,
                                           unless_handled: NodeMain::SUPERVISOR_SIGNALS)
          serve_forks if prepared?
        end

        # The same for a process that is warm already. Its parent is the mold that it came of; it
        # doesn't end with that.
        def run_warm(number:, config:, page:, layout:, signals:, orphan_guard:)
          @number, @config, @page, @layout, @signals = number, config, page, layout, signals
          @orphan_guard = orphan_guard.promote_to_mold
          started = OS.now
          set_title
          report_ready(warmup, started, [], [])
          serve_forks
        end

        private

        def serve_forks
          ForkServer.new(@swarm, @config, number: @number, channel: @channel, signals: @signals,
                                          orphan_guard: @orphan_guard, page: @page,
                                          layout: @layout,
                                          finalizers: Skep::Fork::Guard::Finalizers.new).run
        end

        def set_title
          Process.setproctitle("skep #{@swarm.name} mold #{@number}") if @config.process_titles
        end

        def prepared?
          frame = loaded? && receive("prepare")
          return false unless frame

          prepare(frame)
          true
        rescue Definition::Loader::InvalidSwarmFile => e
          @channel.post("refused", { "sentence" => e.message, "exit_code" => e.exit_code })
          @channel.take # the supervisor has read it when it closes
          false
        end

        def loaded?
          frame = receive("load")
          return false unless frame && @orphan_guard.confirm(frame["supervisor"])

          @number = frame["mold"]
          @swarm ||= loader.swarm
          @warnings = @swarm.__warnings
          @channel.post("loaded", @swarm.__to_plain)
        end

        # Only the first mold boots the swarm: it runs already when a later one loads the file.
        def loader
          return Definition::Loader.new(@file) if @number.zero?

          Definition::Loader.new(@file, advice: "reload again")
        end

        # Returns the next message, which is of that type. nil: the channel has ended, or the
        # supervisor doesn't want this mold's file and lets it leave.
        def receive(type)
          frame = @channel.take
          return if frame.nil? || frame.type == "leave"
          return IPC::Messages::TO_MOLD.check(frame) if frame.type == type

          raise IPC::Messages::Invalid, "#{IPC::PlainData.shown(frame.type)} came before #{type}"
        end

        def prepare(frame)
          started = OS.now
          @config = Definition::Config.new(@swarm.name, frame["options"], tasks: frame["works"])
          arrange(frame["works"])
          @orphan_guard.orphan_timeout = @config.orphan_timeout
          @layout = IPC::Scoreboard::Layout.new(nodes: frame["nodes"], threads: frame["threads"])
          @page = OS::SharedPage.open(frame.ios.first, @layout.total)
          set_title
          preload
          prepare_service
          findings = guard
          report_ready(warmup, started, findings, @swarm.__warnings - @warnings)
        end

        # Nodes know their works by the numbers that the supervisor gives them.
        def arrange(works)
          return if @swarm.__arrange(works)

          raise Definition::Loader::InvalidSwarmFile.new(
            file: @file || @swarm.name,
            what: "it lacks one of the running swarm's works: " \
                  "#{works.map { |work| work["name"] }.join(", ")}",
            advice: "put it back, or stop the swarm and start it again"
          )
        end

        def warmup = Skep.warmup(huge_pages: @config.huge_pages, reshare: @config.reshare)

        # warnings: what the works lack, if it wasn't known before preload.
        def report_ready(warmup, started, findings, warnings)
          @channel.post("ready", { "seconds" => OS.now - started, "findings" => findings,
                                   "warnings" => warnings, "warmup" => warmup.to_plain,
                                   "passes_on" => @swarm.__logger ? true : Swarm.bridge&.wanted?,
                                   "slots" => GC.stat(:heap_live_slots) })
        end

        def preload
          Skep::Fork::ReshareHook.load if @config.reshare # later boots do it before the file
          @swarm.__preload { |name| run_hooks(name) }
          @signals.reinstall # the application may have replaced the handlers
          OS::ProcessTree::ParentDeathWatch.renew
        end

        # Loads once what every helper serves with.
        def prepare_service
          Swarm.service&.prepare(@config)
        rescue Skep::Error => e
          raise Definition::Loader::InvalidSwarmFile.new(file: @swarm.name, what: e.message)
        end

        def run_hooks(name)
          @swarm.__hooks(name).each(&:call)
        rescue Exception => e # the application's own code may raise anything
          where = e.backtrace&.first
          raise Definition::Loader::InvalidSwarmFile.new(
            file: @swarm.name, what: "#{e.class} in #{name}, #{where}",
            advice: IPC::PlainData.message(e).lines.first&.chomp, exit_code: ExitCode.of_error(e)
          )
        end

        def guard
          return [] if @config.fork_guard == :off

          findings = MoldMain.unsafe(except: [@channel, @signals, *@orphan_guard.supervisor])
          return findings if findings.empty? || @config.fork_guard == :warn

          raise Definition::Loader::InvalidSwarmFile.new(
            file: @swarm.name, what: "not safe to fork after preload", advice: findings.first
          )
        end
      end
    end
  end
end
