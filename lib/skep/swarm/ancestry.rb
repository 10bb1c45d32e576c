# frozen_string_literal: true

# What ties a mold and its nodes to those they come from: none outlives its supervisor for long.
#
#   ancestry = Ancestry.new          # in a mold, first of all: it ends with its supervisor
#   ancestry.confirm(pid)            # the supervisor's word: false if it was gone before
#   ancestry.orphan_timeout = 5.0
#   Signals.hand_on { fork }         # a node: tied from its first instant, before any hook runs
#   ancestry.lost?                   # is the supervisor gone?
#   ancestry.clear_up                # a node ends: what it has started ends first
#
# How: OS::Lifeline. A node also leads a group of its own from then on, and is nearer to an end by
# the kernel's OOM killer than its mold, and that than the supervisor (docs/orphans.md).
module Skep
  class Swarm
    class Ancestry
      # Seconds that an orphan has to end by itself, with its own status, before it is killed; and
      # that its mold has to notice that it is one.
      SLACK = 0.5
      NOTICE = 0.25
      MOLD_OOM = 100
      NODE_OOM = 200
      private_constant :SLACK, :NOTICE, :MOLD_OOM, :NODE_OOM

      attr_reader :supervisor #: OS::Pidfd?, nil where there are none
      attr_reader :patience #: Float, the seconds after which an orphan is killed

      def initialize #: () -> void
        @parent = Process.ppid
        @mold = Process.pid
        @oom = OS::OomScore.adjustment
        @own = OS::Pidfd.open(@mold) if OS::Pidfd.native?
        @bound = Skep.on_fork(child: -> { bind if Signals.handing_on? })
        OS::Lifeline.tie(@parent, seconds: NOTICE)
        endanger(MOLD_OOM)
        Strangers.mark
      end

      # Is our parent the supervisor that speaks? Else it died while we began.
      def confirm(pid) #: (Integer) -> bool
        @supervisor = OS::Pidfd.open(pid) if OS::Pidfd.native?
        pid == @parent && Process.ppid == pid
      rescue Errno::ESRCH # dead and reaped
        false
      end

      # How long orphaned nodes may take.
      def orphan_timeout=(seconds) #: (Float) -> void
        @patience = seconds + SLACK
      end

      # In a mold that has noticed: it may see its nodes to their end.
      def outlive = OS::Lifeline.tie(@parent, seconds: patience + NOTICE) #: () -> void

      # False too where it can't be told.
      def lost? = @supervisor ? !@supervisor.alive? : false #: () -> bool

      # In a node: its own forks are no nodes. What it leaves is ended with it; hooks that were
      # there before run after that.
      def settle #: () -> void
        @bound.cancel
        node = Process.pid
        at_exit { clear_up if Process.pid == node }
      end

      # Of an orphan's mold nobody else may be left to clear up.
      def clear_up #: () -> void
        OS::Group.end_others
        Remains.of(@own) if @own
      end

      # A node is a mold from here on. Its parent is the mold before it, which may go.
      def rise #: () -> self
        OS::Lifeline.tie(@mold, @parent, seconds: 0)
        @own&.close
        @mold = Process.pid
        @own = OS::Pidfd.open(@mold) if OS::Pidfd.native?
        @bound = Skep.on_fork(child: -> { bind if Signals.handing_on? })
        endanger(MOLD_OOM)
        self
      end

      private

      def bind
        Process.setpgid(0, 0)
        OS::Lifeline.tie(@mold, @parent, seconds: patience, estate: @own)
        endanger(NODE_OOM)
        Strangers.mark
      end

      def endanger(by)
        OS::OomScore.adjustment = @oom + by if @oom
      end
    end
  end
end
