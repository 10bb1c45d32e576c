# frozen_string_literal: true

# What a mold does for its nodes once its supervisor is dead: it sees them to their end.
#
#   Guardian.new(loop, children, ancestry).take_over    # children: by pidfd
#
# Those that can't end by themselves are killed in time, with what they have started. Were the mold
# to go at once, a node that has been executed anew would stay, as would what a node that dies in
# that moment leaves behind. If it is killed all the same, each node ends itself (OS::Lifeline).
module Skep
  class Swarm
    class Guardian
      # children: whoever reaps one takes it out.
      def initialize(loop, children, ancestry) #: (OS::Loop, Hash, Ancestry) -> void
        @loop = loop
        @children = children
        @ancestry = ancestry
      end

      def take_over #: () -> void
        @ancestry.outlive
        each { |pidfd| pidfd.signal(:CONT) } # who is stopped can't finish its batch
        @loop.after(@ancestry.patience) { each { |pidfd| kill(pidfd) } }
      end

      private

      # A group that it doesn't lead yet is ours.
      def kill(pidfd)
        pidfd.signal(:KILL)
        pidfd.signal(:KILL, group: true)
      end

      def each
        @children.each_key do |pidfd|
          yield pidfd
        rescue Errno::ESRCH, Errno::EPERM # it went by itself first; or it has become another user
          next
        end
      end
    end
  end
end
