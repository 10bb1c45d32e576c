# frozen_string_literal: true

# A slot: a place in the swarm with a number and a work. It is a record of facts, and
# decides nothing: SlotPolicy reads it, and NodePool acts.
#
#   slot = Slot.new(3, 0)
#   slot.want                 # it is to have a process
#   slot.launch(node)         # a process is being forked for it; a second one is its successor
#   slot.renew(2, "restart")  # its process is to be of generation 2
#   slot.status               # => :booting, what `skep status` shows
#   slot.leave(node, exit, now, within: 60.0)   # => :promoted (the successor), :empty or :kept
#
# A slot owns no process. A generation is a number that each rollout raises: a process has the one
# that its slot wanted when it was launched.
module Skep
  class Swarm
    module Nodes
      class Slot
        BACKTRACE_SECONDS = 3600.0 # for which those of a hang are kept
        private_constant :BACKTRACE_SECONDS

        attr_reader :id
        attr_reader :task # the number of its work
        attr_reader :options # of its work (Definition::Work); the swarm's, if it has none
        attr_reader :node # the process that holds it
        attr_reader :successor # the one that is to take over
        attr_reader :generation # that its process is to be of
        attr_reader :trial_mold # that its next process is forked from; nil: the present one
        attr_reader :replacing # the reason of the replacement under way; nil: none is
        attr_reader :failed_generation # of the last process that couldn't begin
        attr_reader :deaths
        attr_reader :last_exit
        attr_reader :last_reason
        attr_reader :last_mold # of its last process
        attr_reader :last_generation
        attr_accessor :not_before # when its next process may begin; nil: at once
        attr_writer :interrupted
        attr_accessor :timer # of the next look at it
        attr_accessor :removed_for # why it was removed
        attr_accessor :refusal # why its last process said that it can't begin
        attr_accessor :refusal_code # the exit code of a first boot that it ends
        attr_accessor :failure # what its last process, or its successor, failed with
        attr_accessor :last_hang # what was found out about its last hung node, without secrets
        attr_accessor :last_unfit # what was reported of its last unfit process, and when
        attr_accessor :last_failure # pid, error and line of its last process that raised

        # progress_cells: see SlotPages.
        def initialize(id, task, options: nil, progress_cells: nil)
          @id = id
          @task = task
          @options = options
          @generation = 0
          @deaths = RestartHistory.new
          @begun = 0
          @restarts_by = Hash.new(0)
          @progress = SlotPages.new(progress_cells)
        end

        def label = id
        def helper? = false
        def spare? = false
        def birth = { "node" => id, "task" => task } # what its process must know
        def pid = node&.pid
        def mold = node&.mold
        def nodes = [node, successor].compact
        def live? = !node.nil?
        def event_facts = { node: label, mold: mold&.number, pid:, **work_fact }
        def work_name = task && options&.name

        # What events say of its work: its name, where the swarm has several.
        def work_fact
          task && options&.one_of_several? ? { work: work_name } : {}
        end

        # Is it to have a process?
        def wanted? = @wanted ? true : false
        def want = @wanted = true

        # It is to have none any more: its work has ended, or the swarm stops.
        def finish = @wanted = false

        # There will be no such slot: its processes are to leave for good.
        def retire
          finish
          @retired = true
          @progress.close if nodes.empty? # otherwise once its process has ended
        end

        def retired? = @retired ? true : false

        # Returns true if a process is due: now, after a backoff, or as soon as there is a mold.
        def waiting? = wanted? && !live?

        # Returns true if its process has died and the next one is due at once, or after
        # not_before: a spare may be it.
        def interrupted? = @interrupted && !live? ? true : false

        # Returns true if its process ended well as the swarm was quiet: the next one is due at
        # `resume`.
        def ended_by_quiet? = waiting? && not_before == Float::INFINITY

        # What `skep status` shows: the state of its node, or waiting, or dead.
        def status
          return node.state if node

          waiting? ? :waiting : :dead
        end

        def restarts = [@begun - 1, 0].max
        def clean? = last_exit&.clean? && !last_reason # it ended well and on its own

        # In a crash loop: its next process has to wait.
        def looping? = !@looping_since.nil?

        def looping=(looping)
          @looping_since = looping ? @looping_since || OS.now : nil
        end

        # Since when it has no process that has been ready, and is to have one; nil: it has, or its
        # process made way for a successor.
        def down_since = (@down_since if wanted? && !node&.ready_at)

        # What its work's facts take as JSON.
        def work_bytes = node ? node.work_bytes : @last_work_bytes.to_i

        # Its process is to be of that generation, replaced for that reason; with a mold, forked
        # from it.
        def renew(generation, reason, mold: nil)
          @generation = generation
          @renewed_for = reason
          @trial_mold = mold
        end

        # The process that it has stays, whatever it was to be replaced for.
        def settle
          return unless node

          @generation = [generation, node.generation].min
          node.replace_for = nil
        end

        # A dump has some 100 KB, which each status would have until the swarm ends.
        def forget_old_backtraces(now = OS.now)
          last_hang.delete(:threads) if last_hang && now - last_hang[:at] > BACKTRACE_SECONDS
        end

        def outdated? = !node.nil? && node.generation < generation

        # Its successor couldn't take over: the process that it has stays, unless a newer one has
        # been asked for since that was launched.
        def replacement_failed
          return settle if generation <= @tried_generation

          node&.replace_for = nil
        end

        # Why its process is to be replaced; nil if it isn't.
        def reason_to_replace = node&.replace_for || (@renewed_for if outdated?)

        # A successor is launched.
        def begin_replacement
          @failure = nil
          @tried_generation = generation
          @to_replace = node
          @replacing = reason_to_replace
        end

        # Returns the reason of the replacement that is over, or nil if there was none.
        def end_replacement
          over, @replacing, @to_replace = @replacing, nil, nil
          over
        end

        # Returns true once the successor works, and the old process has gone.
        def replaced? = !replacing.nil? && successor.nil? && !successor_due? && holder_ready?

        # Returns true if the system has refused its successor: it is launched again, as long as
        # there is a reason.
        def successor_due? = !replacing.nil? && successor.nil? && node.equal?(@to_replace)

        def launch(process)
          return @successor = process if node

          @node = process
          @down_since ||= process.asked_at
          @interrupted = false
          count_process
        end

        # The system has refused its next process. That says nothing of the application, so it is no
        # failed start of that generation.
        def fork_refused(error)
          @interrupted = false
          @failure = error
        end

        # A process works in it from here on. Returns the IOs of its pages (IPC::ProgressPages),
        # which are to be given away.
        def hand_over(process) = @progress.take_over(process)

        # A process has ended; exit is nil if it lives on as something else.
        def leave(process, exit, now, within:)
          @progress.leave(process)
          @progress.close if retired?
          began = process.ready_at || process.ended_by_quiet?
          @failed_generation = process.generation unless began || process.fork_refused?
          return successor_left(process, exit) if process == successor

          @cause = cause(process, exit)
          remember(process, exit, now) if exit && process.pid && !superfluous?(process)
          @down_since = now if began || @down_since.nil?
          @down_since = nil if process.retired? || process.ended_by_quiet?
          expected = process.retired? || process.ended_by_quiet? || process.fork_refused?
          @deaths.add(kind_of_death(process), now, within:) unless expected
          free
        end

        # One node of `skep status --json`.
        def to_plain(memory:, beat_age:, done:, unhealthy:)
          { id:, pid:, task:, work_name:, mold: (mold || @last_mold)&.number, state: status,
            assigned: node&.assigned? || false, restarts:, restarts_by: @restarts_by,
            deaths: deaths.counts,
            crash_loop: looping?, last_exit: exit_facts,
            memory:, beat_age:, unhealthy:, last_hang: hang_facts, **trouble(OS.now),
            # A source may report a `done` of its own.
            work: { "done" => done, **(node&.work || @last_work || {}) } }
        end

        def inspect = "#<#{self.class} #{label} #{status}>"

        private

        def successor_left(process, exit)
          @failure ||= ended(process, exit) if exit && process.pid
          @successor = nil
          :kept
        end

        # It was stopped, and its slot is to have none: its end says nothing of the work.
        def superfluous?(process) = process.retired? && !wanted?

        def kind_of_death(process) = process.refused? ? "refusal" : process.kind_of_death

        # What is counted once the slot has its next process: a reason that skep gave (`hung`,
        # `memory_limit`, … as in docs/reference/events.md), or else how the process ended.
        def cause(process, exit)
          return process.reason if process.reason
          return "fork_failed" unless process.pid
          return "refork" unless exit # it lives on as a mold
          return "signal" if exit.signal
          return "unknown" unless exit.exitstatus

          exit.clean? ? "clean" : "failure"
        end

        def ended(process, exit)
          "the new process ended, #{exit}#{" (#{process.reason})" if process.reason}"
        end

        # The successor, if there is one, holds the slot from here on.
        def free
          @node, @successor = @successor, nil
          return :empty unless node

          count_process
          :promoted
        end

        # A spare that has been given the slot and hasn't answered isn't.
        def holder_ready? = live? && node.ready? && !node.stepping_in?

        def count_process
          @begun += 1
          @restarts_by[@cause] += 1 if @cause
          @cause = nil
        end

        def remember(process, exit, now)
          @last_exit = exit
          @last_pid, @left_at = process.pid, now
          @last_reason = process.reason
          @last_mold = process.mold
          @last_generation = process.generation
          @last_work = process.work
          @last_work_bytes = process.work_bytes
        end

        def hang_facts
          last_hang && { seconds_ago: (OS.now - last_hang[:at]).round(3), **last_hang.except(:at) }
        end

        def exit_facts
          last_exit && { exit_status: last_exit.exitstatus, signal: last_exit.signal,
                         reason: last_reason, seconds_ago: (OS.now - @left_at).round(3) }
        end

        # What Diagnosis needs beside that.
        def trouble(now)
          ago = ->(time) { time && (now - time).round(3) }
          retry_in = not_before - now if waiting? && not_before&.finite?
          { down_for: ago.call(down_since), looping_for: ago.call(@looping_since),
            retry_in: retry_in&.clamp(0.0, nil)&.round(3), replacing: reason_to_replace,
            successor: successor&.state, ending: (node.reason || node.failing if node&.failing?),
            failure: failure_facts, unfit: unfit_facts(ago) }
        end

        # What its last process, or the present one, has raised; else why none can be forked.
        def failure_facts
          own = last_failure && [pid, @last_pid].include?(last_failure[:pid])
          return last_failure.slice(:error, :at) if own

          { error: failure, at: nil } if failure && !live?
        end

        # Of the present process, as long as it is to be replaced: it stays if its successor can't
        # begin, and may work again.
        def unfit_facts(ago)
          return unless last_unfit && pid && last_unfit[:pid] == pid
          return unless node.replace_for || node.reason

          { **last_unfit.slice(:why, :error), seconds_ago: ago.call(last_unfit[:at]) }
        end
      end
    end
  end
end
