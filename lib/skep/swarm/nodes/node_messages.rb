# frozen_string_literal: true

# What nodes say over their channels, made into news.
#
#   node_messages = NodeMessages.new(loop, node_registry, events:)
#   node.listens_to(node_messages.link(node, channel))
#
# A node can't make itself pass for another one, for the supervisor, or harm it by nonsense: what it
# says is checked (IPC::Messages) before it comes here.
module Skep
  class Swarm
    module Nodes
      class NodeMessages
        # Facts that are not for a node to name.
        OURS = %w[time mono level event swarm node mold pid seq v].freeze
        ONCE = %w[ready spare stepped_in].freeze # in a process' life
        private_constant :OURS, :ONCE

        # Spares hear first.
        def initialize(loop, node_registry, events:)
          @loop = loop
          @node_registry = node_registry
          @events = events
        end

        # The channel of a node about to be forked, heard from `listen` on.
        def link(node, channel) #: (NodeProcess, IPC::Channel) -> IPC::Connection
          IPC::Connection.new(@loop, channel, IPC::Messages::FROM_NODE,
                              ended: -> { @node_registry.node_exits.silent(node) },
                              protocol_error: ->(error) { protocol_error(node, error) },
                              failed: ->(error, frame) { failed_at(node, error, frame) }) do |frame|
            next if ONCE.include?(frame.type) && !node.first?(frame.type)

            hear(node, frame)
          end
        end

        def hear(node, frame) #: (NodeProcess, IPC::Channel::Message) -> void
          case frame.type
          when "ready" then @node_registry.ready(node)
          when "spare" then @node_registry.spare_ready(node)
          when "stepped_in" then @node_registry.spare_stepped_in(node)
          when "warm" then @node_registry.warm(node)
          when "became_mold" then became_mold(node)
          when "unfit" then unfit(node, frame)
          when "event" then event(node, frame)
          when "failed" then failed(node, frame)
          when "joined" then joined(node, frame)
          when "leaving" then @node_registry.node_exits.leaving(node)
          when "unhealthy" then @node_registry.liveness_monitor.complains(node, frame["reason"])
          when "healthy" then @node_registry.liveness_monitor.recovers(node)
          when "backtraces"
            @node_registry.hang_diagnosis.add_backtraces(node, frame["threads"])
          when "work" then node.report(frame["facts"], frame.bytes)
          when "judged" then @node_registry.crash_attribution.judged(frame)
          when "ask" then @node_registry.asked(node, frame["number"])
          end
        end

        # A node that can't be understood is ended, and nothing else.
        def protocol_error(node, error) #: (NodeProcess, Exception) -> void
          @events.publish(:node_protocol_error, node, level: :error, error: IPC::PlainData.error(error))
          node.kill("protocol_error")
          node.channel.close # not before: it would end by that
        end

        private

        # Our own failure to act on a message: neither the node nor the swarm ends by it.
        def failed_at(node, error, frame)
          @events.publish(:supervisor_error, node, level: :error, message: frame.type,
                                              error: IPC::PlainData.error(error),
                                              backtrace: error.backtrace.to_a.first(20))
        end

        def became_mold(node)
          return @node_registry.became_mold(node) if node.refork && node.state == :stopping

          protocol_error(node, IPC::Messages::Invalid.new("became_mold, which it wasn't told to"))
        end

        def event(node, frame)
          @events.publish(frame["name"], node, level: frame["level"].to_sym, **facts(frame))
        end

        def unfit(node, frame)
          node.refork&.unfit("node #{node.label} can't be a mold: #{frame["sentence"]}")
        end

        def joined(node, frame)
          node.joined(frame["joined"])
          @events.publish(frame["joined"] ? :node_assigned : :node_unassigned, node, **facts(frame))
        end

        def failed(node, frame)
          node.slot.failure = frame["sentence"]
          node.slot.refusal = frame["sentence"] if frame["refused"]
          node.slot.refusal_code = frame["exit_code"]
          @events.publish(:node_failed, node, level: :error, error: frame["sentence"],
                                         backtrace: frame["backtrace"])
        end

        def facts(frame)
          frame["facts"].to_h do |key, fact|
            [OURS.include?(key) ? :"its_#{key}" : key.to_sym, fact]
          end
        end
      end
    end
  end
end
