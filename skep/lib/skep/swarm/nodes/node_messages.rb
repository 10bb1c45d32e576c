# frozen_string_literal: true

# Passes each message from a node's channel to the component that it concerns.
#
#   messages = NodeMessages.new(supervisor, pool, exits, loop:, events:)
#   node.listens_to(messages.connect(node, channel))
#
# Each message is checked (IPC::Messages) before it comes here. A node can't pretend to be another
# node or the supervisor, and no message harms them.
module Skep
  class Swarm
    module Nodes
      class NodeMessages
        # Names of facts that a node's own events may not take.
        RESERVED = %w[time mono level event swarm node work mold pid seq v].freeze
        ONCE = %w[ready spare stepped_in finished].freeze # in a process' life
        private_constant :RESERVED, :ONCE

        def initialize(supervisor, pool, exits, loop:, events:)
          @supervisor = supervisor
          @pool = pool
          @exits = exits
          @loop = loop
          @events = events
        end

        # The channel of a node about to be forked, read from `listen` on.
        def connect(node, channel)
          IPC::Connection.new(@loop, channel, IPC::Messages::FROM_NODE,
                              ended: -> { @exits.channel_closed(node) },
                              protocol_error: ->(error) { protocol_error(node, error) },
                              guard: guard(node)) do |frame|
            next if ONCE.include?(frame.type) && !node.first?(frame.type)

            handle(node, frame)
          end
        end

        private

        def handle(node, frame)
          case frame.type
          when "ready" then @pool.node_ready(node)
          when "spare" then @pool.spare_ready(node)
          when "stepped_in" then @pool.spare_stepped_in(node)
          when "leaving" then @pool.node_leaving(node, for_quiet: frame["for_quiet"])
          when "finished" then @pool.node_finished(node)
          when "warm" then @supervisor.node_warm(node)
          when "became_mold" then became_mold(node)
          when "unfit" then unfit(node, frame)
          when "ask" then @supervisor.send_status(node, frame["number"])
          else handle_report(node, frame)
          end
        end

        def handle_report(node, frame)
          case frame.type
          when "event" then event(node, frame)
          when "replace"
            @pool.replace_failing(node, frame["why"], frame["event"], facts(frame))
          when "failed" then failed(node, frame)
          when "assigned" then assigned(node, frame)
          when "work" then node.report(frame["facts"], frame.bytes)
          when "unhealthy" then @pool.liveness_monitor.report_unhealthy(node, frame["reason"])
          when "healthy" then @pool.liveness_monitor.report_healthy(node)
          when "backtraces" then @pool.hung_node_killer.add_backtraces(node, frame["threads"])
          when "lines" then node.lines = frame["lines"].to_h
          when "profile" then @pool.profile_collector.add(node, frame)
          when "clears_suspects" then node.clears_suspects = true
          when "suspects_resolved" then @pool.crash_attribution.resolve(frame)
          end
        end

        # A node that can't be understood is ended, and nothing else.
        def protocol_error(node, error)
          @events.publish(:node_protocol_error, node, level: :error,
                                                      error: IPC::PlainData.error(error))
          node.kill("protocol_error")
          node.channel.close # not before: it would end by that
        end

        # Our own failure to act on a message ends neither the node nor the swarm.
        def guard(node) = ->(type, &block) { @events.guard(type, subject: node, &block) }

        def became_mold(node)
          return @pool.became_mold(node) if node.becoming_mold?

          protocol_error(node, IPC::Messages::Invalid.new("became_mold, without a request"))
        end

        def unfit(node, frame)
          node.refork&.unfit(frame["sentence"])
        end

        def event(node, frame)
          @events.publish(frame["name"], node, level: frame["level"].to_sym, **facts(frame))
        end

        def assigned(node, frame)
          node.assigned(frame["assigned"])
          name = frame["assigned"] ? :node_assigned : :node_unassigned
          @events.publish(name, node, **facts(frame))
        end

        def failed(node, frame)
          newest = node.slot.successor || node.slot.node
          node.slot.failure = frame["sentence"] if node == newest
          node.slot.last_failure = { pid: node.pid, error: frame["sentence"], at: frame["at"] }
          node.refused = true if frame["refused"] # its exit hooks may fail, too
          # A successor's refusal is its replacement's failure: the slot has a node that works.
          if frame["refused"] && node == node.slot.node
            node.slot.refusal, node.slot.refusal_code = frame["sentence"], frame["exit_code"]
          end
          @events.publish(:node_failed, node, level: :error, error: frame["sentence"],
                                              at: frame["at"], backtrace: frame["backtrace"])
          @supervisor.check_boot
        end

        def facts(frame)
          frame["facts"].to_h do |key, fact|
            [RESERVED.include?(key) ? :"its_#{key}" : key.to_sym, fact]
          end
        end
      end
    end
  end
end
