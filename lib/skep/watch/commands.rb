# frozen_string_literal: true

require "json"

# What a running swarm can be told over its status socket, and what it answers.
#
#   Commands.obey(supervisor, "{\"v\":1,\"command\":\"scale\",\"nodes\":6}\n") { |facts| … }
#
# The block gets the answer: at once, or for `restart` and `reload` when they are over, unless they
# came with "wait": false; of an `upgrade` the next program tells. An answer is
# {done: name}, what was asked for, or {error: sentence}.
module Skep
  module Watch
    class Commands
      NAMES = %w[status follow stop quiet backtraces restart reload upgrade scale chaos].freeze
      NO_REQUEST = 'a request is one line of JSON, such as {"v":1,"command":"status"}'
      MOST = 100 # characters of what isn't known
      private_constant :NO_REQUEST, :MOST

      # follow: makes the client a follower, and returns the answer for it.
      #: (Swarm::Supervisor, String, follow: ^() -> Hash) { (Hash) -> void } -> void
      def self.obey(supervisor, request, follow:, &answer)
        facts = read(request) or return answer.call({ error: NO_REQUEST })
        command = facts["command"]
        return answer.call({ error: unknown(command) }) unless NAMES.include?(command)

        new(supervisor, facts, follow, answer).public_send(command)
      rescue Errno::EMFILE, Errno::ENFILE => e # /proc can't be read
        answer.call({ error: "the supervisor can't look: #{e.message.sub(/ @ .*/, "").downcase}" })
      rescue StandardError => e # a bug of ours, for which the client isn't blamed
        supervisor.events.publish(:supervisor_error, level: :error, message: command,
                                                     error: Swarm::IPC::PlainData.error(e),
                                                     backtrace: e.backtrace.first(20))
        answer.call({ error: "the supervisor failed at it, its log says where: #{e.class}" })
      end

      # What was asked, if it is a request.
      def self.read(request) #: (String) -> Hash[String, untyped]?
        facts = JSON.parse(request)
        facts if facts.is_a?(Hash)
      rescue JSON::ParserError, EncodingError
        nil
      end
      private_class_method :read

      def self.unknown(command) #: (untyped) -> String
        "there is no command #{command.inspect[0, MOST]}: there are #{NAMES.join(", ")}"
      end
      private_class_method :unknown

      #: (Swarm::Supervisor, Hash[String, untyped], ^() -> Hash, ^(Hash) -> void) -> void
      def initialize(supervisor, facts, follow, answer)
        @supervisor = supervisor
        @facts = facts
        @follow = follow
        @answer = answer
      end

      def status = @answer.call({ status: Redaction.of(@supervisor.snapshot) }) #: () -> void
      def follow = @answer.call(@follow.call) #: () -> void
      def stop = soon("stop") { @supervisor.stop } #: () -> void
      def quiet = soon("quiet") { @supervisor.quiet } #: () -> void
      def backtraces = soon("backtraces") { @supervisor.backtraces } #: () -> void
      def restart = lasting("restart", @facts.fetch("node", :all)) #: () -> void
      def reload = lasting("reload") #: () -> void

      # If it comes to that the next program answers.
      def upgrade #: () -> void
        later { @supervisor.changes.upgrade(@facts["program"]) { |why| refuse(why) } }
      end

      def scale #: () -> void
        @answer.call(result("scale", @supervisor.changes.scale(@facts["nodes"])))
      end

      # For `skep chaos`: harm that only the node can do to itself.
      def chaos #: () -> void
        node = @supervisor.node_pool.slots.find { |slot| slot.id == @facts["node"] }&.node
        order = @facts.slice("order", "bytes")
        return @answer.call({ error: no_chaos }) unless @supervisor.config.chaos

        valid = Swarm::IPC::Messages::TO_NODE.valid?("chaos", order)
        node.channel.post("chaos", order) if valid && node&.ready?
        @answer.call({ done: "chaos" })
      end

      private

      def no_chaos
        "swarm #{@supervisor.config.name} takes no orders to hang or leak: give it `chaos: true`"
      end

      # Within the loop, not within this client's turn. What comes over the socket must not end the
      # swarm, whatever it makes of it.
      def later
        @supervisor.loop.after(0) do
          yield
        rescue StandardError => e
          refuse("that can't be done: #{e.message} (#{e.class})")
        end
      end

      def refuse(why) = @answer.call({ error: why })

      def soon(name, &act)
        later(&act)
        @answer.call({ done: name })
      end

      def lasting(name, *which)
        waits = @facts["wait"] != false
        soon_or_later = ->(why) { @answer.call(result(name, why)) if waits }
        later { @supervisor.changes.public_send(name, *which, &soon_or_later) }
        @answer.call({ done: name }) unless waits
      end

      def result(name, why) = why ? { error: why } : { done: name }
    end
  end
end
