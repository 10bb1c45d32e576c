# frozen_string_literal: true

# A slot: a place in the swarm with a number and a kind of work. It remembers the process that holds
# it, the one that is to take over, and what became of those before.
#
#   slot = Slot.new(3, 0)
#   slot.launch(node)      # a process is being forked for it; a second one is its successor
#   slot.state             # => :starting, one of TRANSITIONS
#   slot.status            # => :booting, what `skep status` shows
#   slot.leave(node, exit, now, within: 60.0)   # => :promoted (the successor), :empty or :kept
#
# Only classes of this folder change a slot's state. A slot owns no process.
module Skep
  class Swarm
    module Nodes
      class Slot
        include Runtime::StateMachine

        # | state | the slot |
        # |---|---|
        # | empty | has no process, and none is due yet |
        # | waiting | has none; one is queued, or due after a backoff |
        # | starting | has a process that boots |
        # | running | has one that works |
        # | restarting | its process has died, how isn't known yet; the next is launched or queued |
        # | replacing | has a process that is to be replaced, or its successor, too |
        # | finished | is to have none any more: its work has ended, or the swarm stops |
        # | retired | is removed |
        TRANSITIONS = {
          empty: { wait: :waiting, launch: :starting, finish: :finished, retire: :retired },
          waiting: { wait: :waiting, launch: :starting, finish: :finished, retire: :retired },
          starting: { ready: :running, replace: :replacing, exit: :empty, finish: :finished,
                      retire: :retired },
          running: { replace: :replacing, lose: :restarting, exit: :empty, finish: :finished,
                     retire: :retired },
          restarting: { launch: :restarting, ready: :restarting, successor_exit: :restarting,
                        promote: :starting, exit: :empty, finish: :finished, retire: :retired },
          replacing: { launch: :replacing, ready: :replacing, successor_exit: :replacing,
                       keep: :starting, promote: :starting, exit: :empty, finish: :finished,
                       retire: :retired },
          finished: { ready: :finished, successor_exit: :finished, promote: :finished,
                      exit: :finished, finish: :finished, retire: :retired },
          retired: { ready: :retired, successor_exit: :retired, promote: :retired, exit: :retired,
                     finish: :retired, retire: :retired }
        }.freeze

        attr_reader :id
        attr_reader :task
        attr_reader :node # the process that holds it
        attr_reader :successor # the one that is to take over
        attr_reader :replacement # while its node is to be replaced
        attr_reader :deaths
        attr_reader :last_exit
        attr_reader :last_reason
        attr_reader :last_mold # of its last process
        attr_accessor :refusal # why its last process said that it can't begin
        attr_accessor :refusal_code # the exit code of a first boot that it ends
        attr_accessor :failure # what its last process, or its successor, failed with
        attr_writer :looping
        attr_accessor :last_hang # what was found out about its last hung node
        attr_accessor :wait_timer

        def initialize(id, task)
          @id = id
          @task = task
          @state = :empty
          @deaths = RestartHistory.new
          @causes = ExitCauses.new
          @begun = 0
        end

        def label = id
        def helper? = false
        def spare? = false
        def birth = { "node" => id, "task" => task } # what its process must know
        def pid = node&.pid
        def mold = node&.mold
        def nodes = [node, successor].compact
        def live? = !node.nil?
        def waiting? = @state == :waiting
        # Returns true between the end of its process and the decision what follows.
        def undecided? = @state == :empty
        def running? = @state == :running
        def restarting? = @state == :restarting
        def replacing? = @state == :replacing
        def retired? = @state == :retired
        def event_facts = { node: label, mold: mold&.number, pid: }

        # What `skep status` shows: the state of its node, or waiting, or dead.
        def status
          return node.state if node

          waiting? ? :waiting : :dead
        end

        def restarts = [@begun - 1, 0].max
        def clean? = last_exit&.clean? && !last_reason # it ended well and on its own

        def wait = change(:wait)
        def finish = change(:finish)

        # There will be no such slot: its processes are to leave for good.
        def retire = change(:retire)

        # Is it the place of a node, that still is to work?
        def work? = !task.nil? && !retired?

        # Its process is to be replaced: a successor will be launched.
        def replace(replacement)
          change(:replace)
          @replacement = replacement
        end

        # The replacement is over, well or not. Returns it, or nil if there was none.
        def end_replacement
          over, @replacement = @replacement, nil
          keep if @state == :replacing
          over
        end

        # Its process has died, which isn't recorded yet, and the next one begins.
        def lose = change(:lose)

        # Runs the block once that exit is recorded.
        def when_exit_recorded(&block)
          (@pending ||= []) << block
        end

        def exit_recorded
          pending, @pending = @pending, nil
          pending&.each(&:call)
        end

        def launch(node)
          change(:launch)
          return @successor = node if @node

          @node = node
          count_process
        end

        # Its process, or the successor, can work.
        def ready = change(:ready)

        # A process has ended; exit is nil if it lives on as something else.
        def leave(node, exit, now, within:)
          return successor_exited(node, exit, now, within) if node == @successor

          @causes.ended(node, exit)
          remember(node, exit) if exit
          died(cause(node), now, within) unless node.retired? || node.ended_by_quiet?
          @node = nil
          @successor ? promote : free
        end

        # kind: see RestartHistory. One that couldn't even be forked counts, as the next try waits
        # for it.
        def died(kind, now, within) = @deaths.add(kind, now, within:)

        # In a crash loop: its next process has to wait.
        def looping? = @looping ? true : false

        # What its work's facts take as JSON.
        def work_bytes = node ? node.work_bytes : @last_work_bytes.to_i

        # One node of `skep status --json`.
        def to_plain(memory:, beat_age:, done:, unhealthy:)
          { id:, pid:, task:, mold: (mold || @last_mold)&.number, state: status,
            assigned: node&.assigned? || false, restarts:, restarts_by: @causes.counts,
            deaths: deaths.counts,
            crash_loop: looping?, last_exit: exit_facts,
            memory:, beat_age:, unhealthy:, last_hang: hang_facts,
            # A source may report a `done` of its own.
            work: { "done" => done, **(node&.work || @last_work || {}) } }
        end

        def inspect = "#<#{self.class} #{label} #{state}>"

        private

        # A successor that was launched early is the slot's next process: its death counts.
        def successor_exited(node, exit, now, within)
          @failure ||= ended(node, exit) if exit && node.pid
          died(cause(node), now, within) if restarting? && !node.retired?
          lose_successor
        end

        def cause(node) = node.refused? ? "refusal" : node.kind_of_death

        def ended(node, exit)
          "the new process ended, #{exit}#{" (#{node.reason})" if node.reason}"
        end

        def lose_successor
          @successor = nil
          change(:successor_exit)
          :kept
        end

        # The process that it has stays.
        def keep
          change(:keep)
          ready if holder_ready?
        end

        # The successor holds the slot from here on.
        def promote
          @node, @successor = @successor, nil
          change(:promote)
          ready if holder_ready?
          count_process
          :promoted
        end

        # A spare that has been given the slot and hasn't answered isn't.
        def holder_ready? = @node.ready? && !@node.stepping_in?

        def free
          change(:exit)
          :empty
        end

        def count_process
          @begun += 1
          @causes.begun
        end

        def remember(node, exit)
          @last_exit = exit
          @last_reason = node.reason
          @last_mold = node.mold
          @last_work = node.work
          @last_work_bytes = node.work_bytes
        end

        def hang_facts
          last_hang && { seconds_ago: (OS.now - last_hang[:at]).round(3), **last_hang.except(:at) }
        end

        def exit_facts
          last_exit && { exit_status: last_exit.exitstatus, signal: last_exit.signal,
                         reason: last_reason }
        end
      end

      # When a slot's processes died: those that never got ready (a deploy's fault, or a database's)
      # apart from those that died at work, and from those that refused to begin (BootError), which
      # are no crashes.
      #
      #   deaths = RestartHistory.new
      #   deaths.add("work", now, within: 60.0)
      #   deaths.times       # => monotonic times within the window, of the kind that came last
      #   deaths.counts      # => { "boot" => 0, "work" => 1 }, of all time; refusals don't count
      class RestartHistory
        attr_reader :counts

        def initialize
          @times = { "boot" => [], "work" => [], "refusal" => [] }
          @counts = { "boot" => 0, "work" => 0 }
          @last = "boot"
        end

        def add(kind, now, within:)
          @last = kind
          @counts[kind] += 1 if @counts.key?(kind)
          times.shift while times.any? && times.first <= now - within
          times << now
        end

        # Clears so many of the last deaths at work: their cause is known.
        def clear_last(number) = @times["work"].pop(number)

        # kind: "boot", "work" or "refusal"; the one of the last death, if it isn't given.
        def times(kind = @last) = @times[kind] ||= []
      end

      # How often a slot got a new process, by what had ended the one before.
      #
      #   causes = ExitCauses.new
      #   causes.ended(node, exit)     # no exit: its process lives on as a mold
      #   causes.begun                 # the next one has the slot
      #   causes.counts                # => { "signal" => 2, "restart" => 1 }
      #
      # A reason that skep gives (`hung`, `memory_limit`, … as in docs/reference/events.md) goes
      # before how it ended: `signal`, `failure` (an exit status but 0), `clean`, `unknown`.
      class ExitCauses
        attr_reader :counts

        def initialize
          @counts = {}
          @last = nil
        end

        def ended(node, exit)
          @last = node.reason || (node.pid ? kind(exit) : "fork_failed")
        end

        # Nobody had the slot before the first.
        def begun
          @counts[@last] = @counts.fetch(@last, 0) + 1 if @last
          @last = nil
        end

        def inspect = "#<#{self.class} #{counts}>"

        private

        def kind(exit)
          return "refork" unless exit
          return "signal" if exit.signal
          return "unknown" unless exit.exitstatus

          exit.clean? ? "clean" : "failure"
        end
      end
    end
  end
end
