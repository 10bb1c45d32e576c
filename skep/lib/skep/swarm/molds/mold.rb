# frozen_string_literal: true

# The supervisor's record of one mold: its number, its process, its state and the channel to it.
#
#   mold.prepare(config, page, layout)   # preload and warm up
#   mold.fork(node, socket)              # the socket is given away
#   mold.retire                          # nothing more is forked from it
#   mold.exited                          # => IPC::ExitStatus
#
# MoldPool starts, retires and ends molds and alone writes their state; NodePool asks them for
# nodes. The code that runs inside a mold is Processes::MoldMain.
#
# | state | what the mold does |
# |---|---|
# | loading | loads the swarm's file; or it was a node, and warms up |
# | preparing | knows the configuration, runs `preload` and `warm` |
# | ready | forks nodes |
# | retired | forks nothing more; leaves when its last node is gone |
# | leaving | its channel is closed, so it ends; while it loads, it doesn't see that |
# | dead | has ended |
module Skep
  class Swarm
    module Molds
      class Mold
        include Runtime::StateMachine

        TRANSITIONS = {
          loading: { prepare: :preparing, ready: :ready, retire: :retired, release: :leaving,
                     exited: :dead },
          preparing: { ready: :ready, retire: :retired, release: :leaving, exited: :dead },
          ready: { retire: :retired, release: :leaving, exited: :dead },
          retired: { retire: :retired, release: :leaving, exited: :dead },
          leaving: { retire: :leaving, release: :leaving, exited: :dead },
          dead: {}
        }.freeze

        attr_reader :number
        attr_reader :pid
        attr_reader :pidfd
        attr_reader :channel
        attr_reader :started_at
        attr_reader :heard_at # its last word
        attr_reader :events # that its file's blocks want; nil: not known
        attr_reader :revision # of its code; nil: not known
        attr_reader :rollout # that tries it; only that forks from it

        def initialize(number, pid, channel, now, pidfd: OS::Pidfd.open(pid), rollout: nil,
                       revision: nil)
          @number = number
          @pid = pid
          @pidfd = pidfd
          @channel = channel
          @started_at = @heard_at = now
          @rollout = rollout
          @revision = revision
          @state = :loading
          @watches = []
        end

        # Of the loop; cancelled at its end. Timers that have run are dropped.
        def watches
          @watches.reject! { |one| one.respond_to?(:pending?) && !one.pending? }
          @watches
        end

        attr_accessor :leave_timer # kills it if it doesn't leave

        # By when it must be able to fork.
        def boot_timer=(timer)
          @boot_timer&.cancel
          @boot_timer = timer
        end

        def event_facts = { mold: number, pid: }
        def live? = @state != :dead
        def ready? = @state == :ready

        # Returns true if it has been ready: it answers pings, and its end is no failed boot.
        def booted? = @booted ? true : false

        # Returns true if nothing is forked from it any more.
        def retired? = %i[retired leaving].include?(@state)

        def candidate? = !rollout.nil?

        # It is a candidate no longer.
        def adopt = @rollout = nil

        # Its file is loaded, has blocks for these events, and is of that revision.
        def loaded(events, revision)
          @events = events
          @revision = revision
        end

        def prepare(config, page, layout)
          change(:prepare)
          options = { **config.to_h, revision: }.compact
          @channel.post("prepare", { "options" => options, "works" => config.works.map(&:to_plain),
                                     "nodes" => layout.nodes, "threads" => layout.threads },
                        lend: [page.to_io])
        end

        def ready
          change(:ready)
          @booted = true
        end

        # suspects: what it is to be careful of.
        def fork(node, socket, suspects: [])
          placed = node == node.slot.node
          pages = placed ? node.slot.hand_over(node) : []
          @channel.post("fork", { "page_index" => node.page_index, **node.slot.birth,
                                  "mold" => number, "placed" => placed,
                                  "suspects" => suspects }, give: [socket, *pages])
        end

        # A process that it has forked is to end.
        def end_process(pid) = @channel.post("end", { "pid" => pid })

        # Asks for a sign of life, unless it still owes one.
        def ping(now)
          return if @pinged_at

          @pinged_at = now
          @channel.post("ping")
        end

        # It has sent something, whatever it was.
        def heard(now)
          @heard_at = now
          @pinged_at = nil
        end

        # Returns the seconds for which it has owed a sign of life.
        def silent_for(now) = @pinged_at ? now - @pinged_at : 0.0

        # It couldn't answer until now.
        def excuse(now) = @pinged_at &&= now

        # A mold that isn't ready has forked nothing ahead.
        def retire
          change(:retire)
          @channel.post("retire") if booted?
        end

        # Lets it end: the mold leaves when its channel closes.
        def release
          change(:release)
          @channel.post("leave")
          @channel.close
        end

        # Returns true if the supervisor has killed it.
        def killed? = @killed ? true : false

        attr_reader :kill_reason

        def kill(reason = nil)
          @killed = true
          @kill_reason ||= reason
          @pidfd.signal(:KILL)
        rescue Errno::ESRCH, Errno::EPERM # it has ended; or it runs a setuid program
          nil
        end

        # Closes what belonged to it and returns how it ended. Call when its pidfd is readable.
        def exited
          change(:exited)
          [*@boot_timer, *leave_timer, *@watches].each(&:cancel)
          @pidfd.kill_leftover_group
          exit_status = IPC::ExitStatus.of(@pidfd.wait(timeout: 0))
          [@channel, @pidfd].each(&:close)
          exit_status
        end

        def inspect = "#<#{self.class} #{number} #{state} pid=#{pid}>"
      end
    end
  end
end
