# frozen_string_literal: true

# One run of the demo: starts broker and swarm, produces, kills, watches the accounts, and judges at
# the end.
#
#   Trial.new(plan, view:).run   # => Verdict, or raises Failed with a sentence
#
# One loop waits for the swarm's log, its end, signals, and the next turn. INT, TERM or HUP stop
# everything in order, a second one by force. What it started it has ended when `run` returns, and
# its folder is gone unless kept.
module Skep
  module CLI
    class Demo
      class Trial
        TURN = 0.1 # seconds between two looks at the accounts
        STILL = 60.0 # seconds without any progress after which it is given up
        STOP = 45.0 # seconds the swarm has for its end
        private_constant :TURN, :STILL, :STOP

        # keep: who is told where the folder is kept; it isn't kept for nobody.
        def initialize(plan, view:, keep: nil) #: (Plan, view: untyped, ?keep: IO?) -> void
          @plan = plan
          @keep = keep
          @owned = []
          @interrupts = own(Interrupts.new)
          @roster = own(Roster.new)
          @kills = Kills.new(plan, @roster)
          @pace = Pace.new
          @view = own(view)
        end

        def run #: () -> Verdict
          open
          @loop.run
          raise Failed, @failure if @failure

          verdict
        ensure
          close
        end

        private

        def own(thing) = thing.tap { @owned.unshift(thing) }

        # What was opened last goes first; one that fails keeps none of the others.
        def close
          thing = @owned.shift or return
          thing.close
        ensure
          close if thing
        end

        def open
          @folder = own(Folder.new(keep: @keep))
          @account = Account.new(@folder.ledgers, messages: @plan.messages)
          @brokers = own(Brokers.new(@plan))
          @brokers.open
          @swarm = own(RunningSwarm.new(@plan, @brokers, @folder))
          @loop = own(OS::EventLoop.new)
          listen
        end

        def listen
          @phase = "booting"
          @moved_at = OS.now
          @loop.watch(@interrupts.to_io) { @interrupts.each { |name| interrupt(name) } }
          @loop.watch(@swarm.log) { hear }
          @loop.watch(@swarm.pidfd.to_io) { ended }
          turn
        end

        def hear
          @swarm.events.each { |event| [@roster, @kills].each { |listener| listener.hear(event) } }
          work if @phase == "booting" && @roster.ready.size == @plan.nodes
        end

        def work
          @phase = "working"
          @began_at = @moved_at = OS.now
          @production = own(Production.new(@plan, @brokers))
        end

        # Looks at the accounts and does what is due.
        def turn
          now = OS.now
          @moved_at = now if @account.read.positive?
          note_pace(now) if @began_at
          act if @phase == "working"
          give_up(now) unless @phase == "stopping"
          stop(failure: "the embedded broker has died") unless @brokers.alive?
          @view.draw(scene, now)
          @loop.after(TURN) { turn }
        end

        def note_pace(now)
          by_node = @roster.nodes.to_h { |node| [node.id, @account.of(node.id)] }
          @pace.note(now, total: @account.processed, by_node:)
        end

        def act
          return stop(failure: @production.error.message) if @production.error
          return stop if @production.finished? && @kills.done? && all_processed?

          @kills.strike if @kills.due?(@account.processed)
          @production.allow(@plan.allowed(@account.processed, @kills.made.size))
        end

        def all_processed? = @account.processed == @plan.messages

        def give_up(now)
          return if now - @moved_at < STILL

          return stop(note: "nothing moved for #{STILL.round} s, so it was given up") if @began_at

          stop(failure: "the swarm isn't ready after #{STILL.round} s: #{@swarm.complaint}")
        end

        def stop(failure: nil, note: nil)
          @failure ||= failure
          @note ||= note
          return if @phase == "stopping"

          @phase = "stopping"
          @swarm.stop
          @loop.after(STOP) { @swarm.force }
        end

        def interrupt(name)
          @interrupted ? @swarm.force : stop(failure: "stopped by SIG#{name} before its end")
          @interrupted = true
        end

        def ended
          hear
          @status = Swarm::IPC::ExitStatus.of(@swarm.wait(0))
          unless @phase == "stopping"
            @failure ||= "the swarm ended early (#{@status}): #{@swarm.complaint}"
          end
          @phase = "ended"
          @view.draw(scene, OS.now)
          @loop.stop
        end

        def scene
          Scene.new(plan: @plan, roster: @roster, account: @account, kills: @kills, pace: @pace,
                    phase: @phase)
        end

        # Counted from scratch, once nobody writes any more.
        def verdict
          account = Account.new(@folder.ledgers, messages: @plan.messages).tap(&:read)
          Verdict.new(plan: @plan, brokers: @brokers.to_s, produced: @production.produced,
                      processed: account.processed, duplicates: account.duplicates, kills: @kills,
                      restarts: @roster.restarts, seconds: @moved_at - @began_at,
                      swarm_status: status, note: @note)
        end

        def status = @status.exitstatus == 0 ? @status.to_s : "#{@status}: #{@swarm.complaint}"
      end
      private_constant :Trial
    end
  end
end
