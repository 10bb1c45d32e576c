# frozen_string_literal: true

# What ties a mold and its nodes to those they come from: none outlives its supervisor for long.
#
#   orphan_guard = OrphanGuard.new   # in a mold, first of all: it ends with its supervisor
#   orphan_guard.confirm(pid)        # the supervisor's word: false if it was gone before
#   orphan_guard.orphan_timeout = 5.0
#   SelfPipe.with_inherited_handlers { fork }   # a node: tied at once, before any hook runs
#   orphan_guard.lost?                   # is the supervisor gone?
#   orphan_guard.clear_up                # a node ends: what it has started ends first
#   orphan_guard.promote_to_mold         # a node becomes a mold: => its OrphanGuard from then on
#
# How: ParentDeathWatch. A node also leads a group of its own from then on, and is nearer to an
# end by the kernel's OOM killer than its mold, and that than the supervisor (docs/orphans.md).
module Skep
  class Swarm
    module Runtime
      class OrphanGuard
        # Seconds that an orphan has to end by itself, with its own status, before it is killed; and
        # that its mold has to notice that it is one.
        SLACK = 0.5
        NOTICE = 0.25
        MOLD_OOM = 100
        NODE_OOM = 200
        private_constant :SLACK, :NOTICE, :MOLD_OOM, :NODE_OOM

        # In the environment of what a node or a mold executes: its pid.
        OWNER = "SKEP_OWNER_PID"

        attr_reader :supervisor #: OS::Pidfd?, nil where there are none

        # oom: the supervisor's OomScore; slack: a mold that came of a node ends its nodes before
        # the mold that it came of ends it.
        def initialize(supervisor_pid: Process.ppid, supervisor: nil, oom: OS::Memory::OomScore.adjustment,
                       slack: SLACK)
          @supervisor_pid, @supervisor, @oom, @slack = supervisor_pid, supervisor, oom, slack
          @parent, @mold = Process.ppid, Process.pid
          @own = OS::Pidfd.open(@mold) if OS::Pidfd.native?
          @bound = Skep.on_fork(child: -> { bind if SelfPipe.handing_on? })
          hold_on(NOTICE)
          raise_oom_score(MOLD_OOM)
          mark
        end

        # Is our parent the supervisor that speaks? Else it died while we began.
        def confirm(pid) #: (Integer) -> bool
          @supervisor = OS::Pidfd.open(pid) if OS::Pidfd.native?
          pid == @supervisor_pid && Process.ppid == pid
        rescue Errno::ESRCH # dead and reaped
          false
        end

        # How long orphaned nodes may take.
        def orphan_timeout=(seconds) #: (Float) -> void
          @orphan_timeout = seconds
        end

        # The seconds after which an orphan is killed.
        def patience = @orphan_timeout + @slack #: () -> Float

        # In a mold that has noticed: it may see its nodes to their end.
        def extend_patience = hold_on(patience + NOTICE) #: () -> void

        # False too where it can't be told.
        def lost? = @supervisor ? !@supervisor.alive? : false #: () -> bool

        # In a node: its own forks are no nodes. What it leaves is ended with it; hooks that were
        # there before run after that.
        def adopt_as_node #: () -> void
          @bound.cancel
          node = Process.pid
          at_exit { clear_up if Process.pid == node }
        end

        # In a node that becomes a mold: what it started as a node is over.
        def promote_to_mold #: () -> OrphanGuard
          OS::ProcessTree::ProcessGroup.kill_others
          @own&.close
          OrphanGuard.new(supervisor_pid: @supervisor_pid, supervisor: @supervisor, oom: @oom,
                          slack: @slack / 2)
                     .tap { |mold| mold.orphan_timeout = @orphan_timeout }
        end

        # Of an orphan's mold nobody else may be left to clear up.
        def clear_up #: () -> void
          OS::ProcessTree::ProcessGroup.kill_others
          @own&.kill_leftover_group
        end

        private

        # What this process executes from now on is known for its own.
        def mark = ENV[OWNER] = Process.pid.to_s

        # A mold's parent is the supervisor, or the mold that it came of.
        def hold_on(seconds)
          OS::ProcessTree::ParentDeathWatch.watch(@parent, @supervisor_pid, seconds:)
        end

        def bind
          Process.setpgid(0, 0)
          OS::ProcessTree::ParentDeathWatch.watch(@mold, @supervisor_pid,
                                                  seconds: patience, mold_group: @own)
          raise_oom_score(NODE_OOM)
          mark
        end

        def raise_oom_score(by)
          OS::Memory::OomScore.adjustment = @oom + by if @oom
        end
      end
    end
  end
end
