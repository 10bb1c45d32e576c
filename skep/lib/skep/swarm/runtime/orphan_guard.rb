# frozen_string_literal: true

# Kills molds and nodes whose supervisor has died, as the last resort.
#
#   orphan_guard = OrphanGuard.new   # in a mold, first of all: killed soon after its supervisor's
#                                    # death, or once its nodes have ended
#   orphan_guard.confirm(pid)        # the supervisor's pid: false if it had died before
#   orphan_guard.orphan_timeout = 5.0
#   SelfPipe.with_inherited_handlers { fork }   # a node is guarded at once, before any hook runs
#   orphan_guard.adopt_as_node       # in the node
#   orphan_guard.clear_up            # in an orphaned node that is about to end
#   orphan_guard.promote_to_mold     # in a node that becomes a mold: => its OrphanGuard
#
# A node notices the supervisor's death itself, by its Processes::ControlThread, and stops its work.
# OS::ProcessTree::ParentDeathWatch kills a process that doesn't end on its own: one whose mold and
# supervisor have died, even if it is stuck in C code. A node also leads a process group of its own,
# which ends with it. oom_score_adj makes the kernel's OOM killer prefer nodes, then molds, then the
# supervisor (docs/guides/orphans.md).
module Skep
  class Swarm
    module Runtime
      class OrphanGuard
        # Seconds beyond orphan_timeout that an orphan has to end with its own status before it is
        # killed; and that its mold has to notice the supervisor's death.
        SLACK = 0.5
        NOTICE = 0.25
        MOLD_OOM = 100
        NODE_OOM = 200
        private_constant :SLACK, :NOTICE, :MOLD_OOM, :NODE_OOM

        # In the environment of programs that a node or a mold executes: its pid.
        OWNER = "SKEP_OWNER_PID"

        attr_reader :supervisor # nil where there are none

        # oom: the supervisor's OomScore. slack: shorter in a mold that was a node, so that it ends
        # its nodes before its own mold ends it.
        def initialize(supervisor_pid: Process.ppid, supervisor: nil, oom: OS::Memory::OomScore.adjustment,
                       slack: SLACK)
          @supervisor_pid, @supervisor, @oom, @slack = supervisor_pid, supervisor, oom, slack
          @parent, @mold = Process.ppid, Process.pid
          @own = OS::Pidfd.open(@mold)
          @bound = Skep.on_fork(child: -> { bind if SelfPipe.handing_on? })
          hold_on(NOTICE)
          raise_oom_score(MOLD_OOM)
          mark
        end

        # Returns true if the parent is the supervisor that sent this pid. Otherwise it has died
        # meanwhile.
        def confirm(pid)
          @supervisor = OS::Pidfd.open(pid) if OS::Pidfd.native?
          pid == @supervisor_pid && Process.ppid == pid
        rescue Errno::ESRCH # dead and reaped
          false
        end

        # The seconds that orphaned nodes have to stop.
        def orphan_timeout=(seconds)
          @orphan_timeout = seconds
        end

        # Returns the seconds after which an orphan is killed.
        def patience = @orphan_timeout + @slack

        # In a mold that has noticed the death: it stays until its nodes have ended.
        def extend_patience = hold_on(patience + NOTICE)

        # In a node: its own forks are no nodes, and the processes of its group end with it. Hooks
        # that were there before run after that.
        def adopt_as_node
          @bound.cancel
          node = Process.pid
          at_exit do
            next unless Process.pid == node

            @supervisor&.alive? ? OS::ProcessTree::ProcessGroup.kill_others : clear_up
          end
        end

        # In a node that becomes a mold: ends the processes that it started as a node.
        def promote_to_mold
          OS::ProcessTree::ProcessGroup.kill_others
          @own.close
          OrphanGuard.new(supervisor_pid: @supervisor_pid, supervisor: @supervisor, oom: @oom,
                          slack: @slack / 2)
                     .tap { |mold| mold.orphan_timeout = @orphan_timeout }
        end

        # In an orphan: ends its group, and that of its mold if no other process is left to do it.
        def clear_up
          OS::ProcessTree::ProcessGroup.kill_others
          @own.kill_leftover_group
        end

        private

        # Marks the programs that this process executes from now on as its own.
        def mark = ENV[OWNER] = Process.pid.to_s

        # The parent of a mold is the supervisor, or the mold that it came of.
        def hold_on(seconds)
          OS::ProcessTree::ParentDeathWatch.watch(@parent, @supervisor_pid, seconds:)
        end

        def bind
          Process.setpgid(0, 0)
          mold_group = @own if OS::Pidfd.native?
          OS::ProcessTree::ParentDeathWatch.watch(@mold, @supervisor_pid, seconds: patience,
                                                                         mold_group:)
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
