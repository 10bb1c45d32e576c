# frozen_string_literal: true

# What nodes say over their channels, made into news.
#
#   hearing = Hearing.new(loop, registrar, spares:, tell:)
#   node.listens_to(hearing.link(node, channel))
#
# A node can't make itself pass for another one, for the supervisor, or harm it by nonsense: what it
# says is checked (Messages) before it comes here.
module Skep
  class Swarm
    class Hearing
      # Facts that are not for a node to name.
      OURS = %w[time mono level event swarm node mold pid seq v].freeze
      ONCE = %w[ready spare seated stepped_in].freeze # in a process' life
      private_constant :OURS, :ONCE

      # tell: called with an event's name, the node, a level and facts. Spares hear first.
      def initialize(loop, registrar, spares:, tell:)
        @loop = loop
        @registrar = registrar
        @tell = tell
        @spares = spares
      end

      # The channel of a node about to be forked, heard from `listen` on.
      def link(node, channel) #: (Node, Channel) -> Link
        Link.new(@loop, channel, Messages::FROM_NODE,
                 ended: -> { @registrar.endings.silent(node) },
                 garbled: ->(error) { garbled(node, error) },
                 failed: ->(error, frame) { failed_at(node, error, frame) }) do |frame|
          next if ONCE.include?(frame.type) && !node.first?(frame.type)

          @spares.hear(node, frame) || hear(node, frame)
        end
      end

      def hear(node, frame) #: (Node, Channel::Frame) -> void
        case frame.type
        when "ready" then @registrar.ready(node)
        when "warm" then @registrar.warm(node)
        when "became_mold" then became_mold(node)
        when "unfit" then unfit(node, frame)
        when "event" then event(node, frame)
        when "failed" then failed(node, frame)
        when "joined" then joined(node, frame)
        when "leaving" then @registrar.endings.leaving(node)
        when "unhealthy" then @registrar.watchman.complains(node, frame["reason"])
        when "healthy" then @registrar.watchman.recovers(node)
        when "backtraces" then @registrar.inquest.testify(node, frame["threads"])
        when "work" then node.report(frame["facts"], frame.bytes)
        when "judged" then @registrar.suspicions.judged(frame)
        when "ask" then @registrar.asked(node, frame["number"])
        end
      end

      # A node that can't be understood is ended, and nothing else.
      def garbled(node, error) #: (Node, Exception) -> void
        @tell.call(:node_garbled, node, level: :error, error: Plain.error(error))
        node.kill("garbled")
        node.channel.close # not before: it would end by that
      end

      private

      # Our own failure to act on a message: neither the node nor the swarm ends by it.
      def failed_at(node, error, frame)
        @tell.call(:supervisor_error, node, level: :error, message: frame.type,
                                            error: Plain.error(error),
                                            backtrace: error.backtrace.to_a.first(20))
      end

      def became_mold(node)
        return @registrar.became_mold(node) if node.refork && node.state == :stopping

        garbled(node, Messages::Invalid.new("became_mold, which it wasn't told to"))
      end

      def event(node, frame)
        @tell.call(frame["name"], node, level: frame["level"].to_sym, **facts(frame))
      end

      def unfit(node, frame)
        node.refork&.unfit("node #{node.label} can't be a mold: #{frame["sentence"]}")
      end

      def joined(node, frame)
        node.joined(frame["joined"])
        @tell.call(frame["joined"] ? :node_joined : :node_left, node, **facts(frame))
      end

      def failed(node, frame)
        node.seat.failure = frame["sentence"]
        node.seat.refusal = frame["sentence"] if frame["refused"]
        node.seat.refusal_code = frame["exit_code"]
        @tell.call(:node_failed, node, level: :error, error: frame["sentence"],
                                       backtrace: frame["backtrace"])
      end

      def facts(frame)
        frame["facts"].to_h { |key, fact| [OURS.include?(key) ? :"its_#{key}" : key.to_sym, fact] }
      end
    end
  end
end
