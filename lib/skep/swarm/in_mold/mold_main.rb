# frozen_string_literal: true

# The mold's own view of itself: it loads the swarm file,
# warms up, and then casts nodes until its channel ends.
#
#   ruby -rskep -e Skep::Swarm::InMold::MoldMain.main   # by the supervisor, channel: descriptor 3,
#                                             # or the first after activation's
#
# | the supervisor says | the mold does and answers |
# |---|---|
# | load {mold, supervisor} | loads its file: loaded {name, options, tasks, events}, or refused |
# | prepare {options, …} + page | preload, warm, warmup: ready {seconds, …}, or refused |
# | fork {page_index, node, …} + socket | forked {page_index, pid} + pidfd, or fork_failed |
# | ping | pong: it is there |
# | (a child has ended) | exited {page_index, pid, exitstatus, signal} |
# | leave, and closes the channel | ends; without that word it sees its nodes to their end first |
#
# Its children are ForkServer's. It has no thread of its own, keeps no node's socket, and ends with
# its supervisor.
module Skep
  class Swarm
    module InMold
      class MoldMain
        # The executed mold's whole program;
        # its arguments are the swarm file and what is the file's own.
        def self.main #: () -> bot
          InMold::HeapSizeHint.leave
          socket = UNIXSocket.for_fd(channel_fd)
          socket.close_on_exec = true
          serve(IPC::Channel.new(socket), file: ARGV.shift)
        end

        #: () -> Integer
        def self.channel_fd
          Runtime::SocketActivation::FIRST + Runtime::SocketActivation.count
        end

        # A mold from here to its end; no at_exit hook runs, for it did no work.
        #: (IPC::Channel, ?swarm: Swarm?, ?file: String?) -> bot
        def self.serve(channel, swarm: nil, file: nil)
          Runtime::SocketActivation.shut
          Runtime::SocketActivation.announce
          $stdout.sync = true # else what a node prints comes by the page, to whom it is a log
          new(channel, swarm:, file:).run
          Process.exit!(0)
        rescue Exception => e # the last word of a process that can't go on
          refused = OS::Refused.of(e)&.message if e.is_a?(SystemCallError)
          refused ||= Definition::Loader.shadowed(file, e)
          told = refused && channel.post("refused", { "sentence" => refused })
          warn("skep: the mold failed: #{e.full_message(highlight: false)}") unless told
          Process.exit!(1) # the supervisor sees it
        end

        # What would break in a child of this process, a sentence each.
        #: (?except: Array[untyped]) -> Array[String]
        def self.unsafe(except: [])
          Skep::Fork::Guard.check(except:).select(&:breaks?).map do |finding|
            "#{finding.what}, #{finding.where}: #{finding.advice}"
          end
        end

        # A process that was a node goes on as a mold, to its end.
        #: (IPC::Channel, swarm: Swarm, **untyped) -> bot
        def self.take_over(channel, swarm:, **rest)
          new(channel, swarm:).go_on(**rest)
          Process.exit!(0)
        rescue Exception => e # the last word, as above
          warn("skep: the mold failed: #{e.full_message(highlight: false)}")
          Process.exit!(1)
        end

        # A swarm, or the file that describes it.
        #: (IPC::Channel, ?swarm: Swarm?, ?file: String?) -> void
        def initialize(channel, swarm: nil, file: nil)
          @channel = channel
          @file = file
          @swarm = swarm
        end

        # Serves the supervisor until it closes the channel.
        def run #: () -> void
          @orphan_guard = Runtime::OrphanGuard.new
          @signals = Runtime::SelfPipe.new(InNode::NodeMain::SIGNALS)
          cast_all if prepared?
        end

        # The same for a process that is warm already. Its parent is the mold before it, whose end
        # isn't its own.
        #: (number: Integer, config: Definition::Config, page: OS::SharedPage,
        #:  layout: IPC::Scoreboard::Layout, signals: Runtime::SelfPipe,
        #:   orphan_guard: Runtime::OrphanGuard) -> void
        def go_on(number:, config:, page:, layout:, signals:, orphan_guard:)
          @number, @config, @page, @layout, @signals = number, config, page, layout, signals
          @orphan_guard = orphan_guard.promote_to_mold
          started = OS.now
          entitle
          tell_of(Skep.warmup(huge_pages: @config.huge_pages, reshare: @config.reshare), started,
                  [])
          cast_all
        end

        private

        def cast_all
          @loop = OS::EventLoop.new
          @loop.watch(@signals.to_io) { @signals.take }
          @link = IPC::Connection.new(@loop, @channel, ended: -> { let_go }) { |frame| obey(frame) }
          @fork_server = fork_server
          @link.listen
          @loop.run
        ensure
          @fork_server.discard
          OS::ProcessTree::ProcessGroup.kill_others
        end

        def fork_server
          ForkServer.new(@swarm, @config, loop: @loop, channel: @channel, link: @link,
                                          signals: @signals, orphan_guard: @orphan_guard,
                                          page: @page, layout: @layout,
                                          finalizers: Skep::Fork::Guard::Finalizers.new) do |role|
            entitle("#{role} (mold #{@number})")
          end
        end

        def entitle(role = "mold #{@number}")
          Process.setproctitle("skep #{@swarm.name} #{role}") if @config.title
        end

        def prepared?
          frame = loaded? && @channel.take
          return false unless frame

          prepare(frame)
          true
        rescue Definition::Loader::InvalidSwarmFile => e
          @channel.post("refused", { "sentence" => e.message, "exit_code" => e.exit_code })
          @channel.take # the supervisor has read it when it closes
          false
        end

        def loaded?
          frame = @channel.take
          return false unless frame && @orphan_guard.confirm(frame["supervisor"])

          @number = frame["mold"]
          @swarm ||= Definition::Loader.new(@file).swarm
          @channel.post("loaded", @swarm.__to_plain)
        end

        def prepare(frame)
          started = OS.now
          @config = Definition::Config.new(@swarm.name, frame["options"], tasks: [{}])
          @orphan_guard.orphan_timeout = @config.orphan_timeout
          @layout = IPC::Scoreboard::Layout.new(nodes: frame["nodes"], threads: frame["threads"])
          @page = OS::SharedPage.open(frame.ios.first, @layout.total)
          entitle
          preload
          prepare_service
          findings = guard
          tell_of(Skep.warmup(huge_pages: @config.huge_pages, reshare: @config.reshare), started,
                  findings)
        end

        def tell_of(warmup, started, findings)
          @channel.post("ready", { "seconds" => OS.now - started, "findings" => findings,
                                   "warmup" => warmup.to_plain,
                                   "passes_on" => Swarm.bridge&.wanted?,
                                   "slots" => GC.stat(:heap_live_slots) })
        end

        def preload
          OS::Memory::HeapPageSlab.install if @config.reshare # later runs do it before the file
          %i[preload warm].each { |name| hooks(name) }
          @signals.renew # whatever the application has put in their place
          OS::ProcessTree::ParentDeathWatch.renew
        end

        # What the helper is to serve with is loaded once, here.
        def prepare_service
          Swarm.service&.prepare(@config)
        rescue Skep::Error => e
          raise Definition::Loader::InvalidSwarmFile.new(file: @swarm.name, what: e.message)
        end

        def hooks(name)
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

        # The channel has ended: by the supervisor's word, or with the supervisor.
        def let_go
          @released || !@fork_server.any? ? @loop.stop : @fork_server.orphaned
        end

        def obey(frame)
          @fork_server.reap_held
          case frame.type
          when "fork" then @fork_server.fork_node(frame)
          when "ping" then @link.post("pong")
          when "leave" then @released = true
          end
        end
      end
    end
  end
end
