# frozen_string_literal: true

# The supervisor's view of a mold: its number, its process, and the road to it.
#
#   mold.prepare(config, page)       # preload and warm up
#   mold.fork(node, socket)          # the socket is given away
#   mold.ended(exit)
#
# Its own view is InMold::MoldMain. It decides nothing: MoldPool starts molds, NodePool asks them
# for nodes.
module Skep
  class Swarm
    module Molds
      class Mold
        attr_reader :number, :pid, :pidfd, :channel, :state, :started_at
        attr_accessor :watches
        attr_accessor :trial #: Rollout::CanaryRollout?, while it is on one
        attr_accessor :events #: Array[String]?, which its file's blocks want; nil: not known

        #: (Integer, Integer, IPC::Connection, Float, ?pidfd: OS::Pidfd) -> void
        def initialize(number, pid, channel, now, pidfd: OS::Pidfd.open(pid))
          @number = number
          @pid = pid
          @pidfd = pidfd
          @channel = channel
          @started_at = now
          @state = :loading
          @watches = []
        end

        def event_facts = { mold: number, pid: } #: () -> Hash
        def ready? = @state == :ready #: () -> bool
        def retire = @retired = true #: () -> void
        def retired? = @retired ? true : false #: () -> bool, no node of it is wanted any more
        def live? = @state != :dead #: () -> bool
        def ready = @state = :ready #: () -> void

        #: (Definition::Config, OS::SharedPage, IPC::Scoreboard::Layout) -> void
        def prepare(config, page, layout)
          @state = :preparing
          options = config.to_h.compact
          @channel.post("prepare", { "options" => options, "nodes" => layout.nodes,
                                     "threads" => layout.threads }, lend: [page.to_io])
        end

        # suspects: what it is to be careful of.
        #: (Nodes::NodeProcess, BasicSocket, ?suspects: Array[Hash[String, untyped]]) -> void
        def fork(node, socket, suspects: [])
          @channel.post("fork", { "page_index" => node.page_index, **node.slot.birth,
                                  "mold" => number, "placed" => node == node.slot.node,
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
          @channel.post("leave")
          @channel.close
        end

        # Closes what belonged to it. Call when its pidfd is readable; returns how it ended.
        def ended #: () -> IPC::ExitStatus
          @state = :dead
          @watches.each(&:cancel)
          @pidfd.kill_leftover_group
          exit = IPC::ExitStatus.of(@pidfd.wait(timeout: 0))
          [@channel, @pidfd].each(&:close)
          exit
        end

        def inspect = "#<#{self.class} #{number} #{state} pid=#{pid}>" #: () -> String
      end
    end
  end
end
