# frozen_string_literal: true

# The supervisor's view of a mold: its number, its process, and the road to it.
#
#   mold.prepare(config, page)       # preload and warm up
#   mold.fork(node, socket)          # the socket is given away
#   mold.ended(exit)
#
# Its own view is Caster. It decides nothing: Foundry starts molds, Manager asks them for nodes.
module Skep
  class Swarm
    class Mold
      attr_reader :number, :pid, :pidfd, :channel, :state, :started_at
      attr_accessor :watches
      attr_accessor :trial #: Trial?, while it is on one
      attr_accessor :events #: Array[String]?, which its file's blocks want to hear; nil: not known

      #: (Integer, Integer, Link, Float, ?pidfd: OS::Pidfd) -> void
      def initialize(number, pid, channel, now, pidfd: OS::Pidfd.open(pid))
        @number = number
        @pid = pid
        @pidfd = pidfd
        @channel = channel
        @started_at = now
        @state = :loading
        @watches = []
      end

      def ready? = @state == :ready #: () -> bool
      def retire = @retired = true #: () -> void
      def retired? = @retired ? true : false #: () -> bool, no node of it is wanted any more
      def live? = @state != :dead #: () -> bool
      def ready = @state = :ready #: () -> void

      def prepare(config, page, cells) #: (Config, OS::Page, Cells) -> void
        @state = :preparing
        options = config.to_h.compact
        @channel.send("prepare", { "options" => options, "nodes" => cells.nodes,
                                   "threads" => cells.threads }, lend: [page.to_io])
      end

      # suspects: what it is to be careful of.
      #: (Node, BasicSocket, ?suspects: Array[Hash[String, untyped]]) -> void
      def fork(node, socket, suspects: [])
        @channel.send("fork", { "slot" => node.slot, **node.seat.birth, "mold" => number,
                                "placed" => node == node.seat.node,
                                "suspects" => suspects }, give: [socket])
      end

      def killed? = @killed ? true : false #: () -> bool, by us

      def kill(_reason = nil) #: (?String?) -> void
        @killed = true
        @pidfd.signal(:KILL)
      rescue Errno::ESRCH # it went by itself first
        nil
      end

      # Lets it end: the mold leaves when its channel closes.
      def release #: () -> void
        @channel.send("leave")
        @channel.close
      end

      # Closes what belonged to it. Call when its pidfd is readable; returns how it ended.
      def ended #: () -> Exit
        @state = :dead
        @watches.each(&:cancel)
        Remains.of(@pidfd)
        exit = Exit.of(@pidfd.wait(timeout: 0))
        [@channel, @pidfd].each(&:close)
        exit
      end

      def inspect = "#<#{self.class} #{number} #{state} pid=#{pid}>" #: () -> String
    end
  end
end
