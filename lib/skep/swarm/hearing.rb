# frozen_string_literal: true

# What nodes say over their channels, made into news.
#
#   hearing = Hearing.new(loop, registrar, spares:, tell:)
#   node.listens_to(hearing.link(node, channel))
#
# A node can't make itself pass for another one, for the supervisor, or harm it by nonsense.
module Skep
  class Swarm
    class Hearing
      # Facts that are not for a node to name.
      OURS = %w[time mono level event swarm node mold pid].freeze
      LEVELS = %i[debug info warn error].freeze
      private_constant :LEVELS, :OURS

      # tell: called with an event's name, the node, a level and facts. Spares hear first.
      def initialize(loop, registrar, spares:, tell:)
        @loop = loop
        @registrar = registrar
        @tell = tell
        @spares = spares
      end

      # The channel of a node about to be forked, heard from `listen` on.
      def link(node, channel) #: (Node, Channel) -> Link
        Link.new(@loop, channel, ended: -> { @registrar.endings.silent(node) },
                                 garbled: ->(error) { garbled(node, error) }) do |frame|
          @spares.hear(node, frame) || hear(node, frame)
        end
      end

      def hear(node, frame) #: (Node, Channel::Frame) -> void
        case frame.type
        when "ready" then @registrar.ready(node)
        when "warm" then @registrar.warm(node)
        when "became_mold" then @registrar.became_mold(node)
        when "unfit" then unfit(node, frame)
        when "event" then @tell.call(frame["name"], node, level: level(frame), **facts(frame))
        when "failed" then failed(node, frame)
        else hear_of_state(node, frame)
        end
      end

      private

      def hear_of_state(node, frame)
        case frame.type
        when "joined" then joined(node, frame)
        when "leaving" then @registrar.endings.leaving(node)
        when "unhealthy" then @registrar.watchman.complains(node, frame["reason"].to_s)
        when "healthy" then @registrar.watchman.recovers(node)
        else note(node, frame)
        end
      end

      # What is only kept, for whoever asks.
      def note(node, frame)
        case frame.type
        when "backtraces" then @registrar.inquest.testify(node, threads(frame))
        when "work" then node.report(frame["facts"])
        when "judged" then @registrar.suspicions.judged(frame)
        when "ask" then @registrar.asked(node, frame["number"])
        end
      end

      def threads(frame) = frame["threads"].select { |thread| thread["backtrace"].is_a?(Array) }

      def garbled(node, error)
        @tell.call(:node_garbled, node, level: :error, error: "#{error.class}: #{error.message}")
        node.kill("garbled")
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

      def level(frame) = LEVELS.find { |level| level.to_s == frame["level"] } || :info
    end
  end
end
