# frozen_string_literal: true

# The mold's own view of itself: it loads the swarm file,
# warms up, and then casts nodes until its channel ends.
#
#   ruby -rskep -e Skep::Swarm::Caster.main   # executed by the supervisor, channel: descriptor 3,
#                                             # or the first after the Sockets
#
# | the supervisor says | the mold does and answers |
# |---|---|
# | load {mold, supervisor} | loads its file: loaded {name, options, tasks, events}, or refused |
# | prepare {options, …} + page | preload, warm, warmup: ready {seconds, …}, or refused |
# | fork {slot, node, …} + socket | forked {slot, pid} + pidfd, or fork_failed {slot, error} |
# | ping | pong: it is there |
# | (a child has ended) | exited {slot, pid, exitstatus, signal} |
# | leave, and closes the channel | ends; without that word it sees its nodes to their end first |
#
# Its children are Offspring's. It has no thread of its own, keeps no node's socket, and ends with
# its supervisor.
module Skep
  class Swarm
    class Caster
      # The executed mold's whole program;
      # its arguments are the swarm file and what is the file's own.
      def self.main #: () -> bot
        LastHeap.leave
        socket = UNIXSocket.for_fd(channel_fd)
        socket.close_on_exec = true
        serve(Channel.new(socket), file: ARGV.shift)
      end

      def self.channel_fd = Sockets::FIRST + Sockets.count #: () -> Integer

      # A mold from here to its end; no at_exit hook runs, for it did no work.
      #: (Channel, ?swarm: Swarm?, ?file: String?) -> bot
      def self.serve(channel, swarm: nil, file: nil)
        Sockets.shut
        Sockets.announce
        $stdout.sync = true # else what a node prints comes by the page, to whom it is a log
        new(channel, swarm:, file:).run
        Process.exit!(0)
      rescue Exception => e # the last word of a process that can't go on
        refused = OS::Refused.of(e)&.message if e.is_a?(SystemCallError)
        refused ||= Loader.shadowed(file, e)
        told = refused && channel.send("refused", { "sentence" => refused })
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
      #: (Channel, swarm: Swarm, **untyped) -> bot
      def self.take_over(channel, swarm:, **rest)
        new(channel, swarm:).go_on(**rest)
        Process.exit!(0)
      rescue Exception => e # the last word, as above
        warn("skep: the mold failed: #{e.full_message(highlight: false)}")
        Process.exit!(1)
      end

      # A swarm, or the file that describes it.
      #: (Channel, ?swarm: Swarm?, ?file: String?) -> void
      def initialize(channel, swarm: nil, file: nil)
        @channel = channel
        @file = file
        @swarm = swarm
      end

      # Serves the supervisor until it closes the channel.
      def run #: () -> void
        @ancestry = Ancestry.new
        @signals = Signals.new(Life::SIGNALS)
        cast_all if prepared?
      end

      # The same for a process that is warm already. Its parent is the mold before it, whose end
      # isn't its own.
      #: (number: Integer, config: Config, page: OS::Page, cells: Cells, signals: Signals,
      #:   ancestry: Ancestry) -> void
      def go_on(number:, config:, page:, cells:, signals:, ancestry:)
        @number, @config, @page, @cells, @signals = number, config, page, cells, signals
        @ancestry = ancestry.rise
        started = OS.now
        entitle
        tell_of(Skep.warmup(huge_pages: @config.huge_pages, reshare: @config.reshare), started, [])
        cast_all
      end

      private

      def cast_all
        @loop = OS::Loop.new
        @loop.watch(@signals.to_io) { @signals.take }
        @link = Link.new(@loop, @channel, ended: -> { let_go }) { |frame| obey(frame) }
        @offspring = offspring
        @link.listen
        @loop.run
      ensure
        @offspring.discard
        OS::Group.end_others
      end

      def offspring
        Offspring.new(@swarm, @config, loop: @loop, channel: @channel, link: @link,
                                       signals: @signals, ancestry: @ancestry,
                                       page: @page, cells: @cells,
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
      rescue Loader::Refused => e
        @channel.send("refused", { "sentence" => e.message, "exit_code" => e.exit_code })
        @channel.take # the supervisor has read it when it closes
        false
      end

      def loaded?
        frame = @channel.take
        return false unless frame && @ancestry.confirm(frame["supervisor"])

        @number = frame["mold"]
        @swarm ||= Loader.new(@file).swarm
        @channel.send("loaded", @swarm.__to_plain)
      end

      def prepare(frame)
        started = OS.now
        @config = Config.new(@swarm.name, frame["options"], tasks: [{}])
        @ancestry.orphan_timeout = @config.orphan_timeout
        @cells = Cells.new(nodes: frame["nodes"], threads: frame["threads"])
        @page = OS::Page.open(frame.ios.first, @cells.total)
        entitle
        preload
        prepare_service
        findings = guard
        tell_of(Skep.warmup(huge_pages: @config.huge_pages, reshare: @config.reshare), started,
                findings)
      end

      def tell_of(warmup, started, findings)
        @channel.send("ready", { "seconds" => OS.now - started, "findings" => findings,
                                 "warmup" => warmup.to_plain,
                                 "passes_on" => Swarm.bridge&.wanted?,
                                 "slots" => GC.stat(:heap_live_slots) })
      end

      def preload
        OS::Slab.install if @config.reshare # at the first run: later ones do it before the file
        %i[preload warm].each { |name| hooks(name) }
        @signals.renew # whatever the application has put in their place
        OS::Lifeline.renew
      end

      # What the helper is to serve with is loaded once, here.
      def prepare_service
        Swarm.service&.prepare(@config)
      rescue Skep::Error => e
        raise Loader::Refused.new(file: @swarm.name, what: e.message)
      end

      def hooks(name)
        @swarm.__hooks(name).each(&:call)
      rescue Exception => e # the application's own code may raise anything
        where = e.backtrace&.first
        raise Loader::Refused.new(file: @swarm.name, what: "#{e.class} in #{name}, #{where}",
                                  advice: Plain.message(e).lines.first&.chomp,
                                  exit_code: ExitCode.of_error(e))
      end

      def guard
        return [] if @config.fork_guard == :off

        findings = Caster.unsafe(except: [@channel, @signals, *@ancestry.supervisor])
        return findings if findings.empty? || @config.fork_guard == :warn

        raise Loader::Refused.new(file: @swarm.name, what: "not safe to fork after preload",
                                  advice: findings.first)
      end

      # The channel has ended: by the supervisor's word, or with the supervisor.
      def let_go
        @released || !@offspring.any? ? @loop.stop : @offspring.orphaned
      end

      def obey(frame)
        @offspring.reap_held
        case frame.type
        when "fork" then @offspring.cast(frame)
        when "ping" then @link.send("pong")
        when "leave" then @released = true
        end
      end
    end
  end
end
