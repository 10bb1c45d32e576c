# frozen_string_literal: true

require "json"

# Runs the commands that a client sends over the control socket.
#
#   CommandHandler.handle(supervisor, "{\"v\":1,\"command\":\"scale\",\"nodes\":6}\n") { |facts| … }
#
# The block gets the reply: at once, or for `restart` and `reload` when they have finished, unless
# they came with "wait": false. A reply is {done: name}, what was asked for, or {error: sentence}.
# That of `restart` and `reload` has quiet: true if the swarm is quiet and stays so, that of
# `resume` was_quiet, that of `scale` the numbers of nodes: from, to, and those of each work that it
# named. That of `profile` is {profile: …} (Swarm::Profiling::ProfileCollector), when it is over.
# `restart` takes a "node" or a "work", `scale` "nodes", with a "work", or "works".
module Skep
  module Control
    class CommandHandler
      # Each command's fields. One that isn't here is refused: to ignore it would do something else
      # than a newer client has asked for. (`wait` means something to restart and reload only; pages
      # of earlier checkouts send it with each command.)
      FIELDS = { "status" => [], "follow" => %w[debug], "history" => %w[live series debug],
                 "stop" => %w[wait], "quiet" => %w[wait], "resume" => %w[wait],
                 "backtraces" => %w[wait], "profile" => %w[seconds],
                 "restart" => %w[node work wait], "reload" => %w[wait],
                 "scale" => %w[nodes work works], "chaos" => %w[node order bytes],
                 "commands" => [] }.freeze
      NAMES = FIELDS.keys.freeze
      LONGEST = Swarm::Profiling::MAX_SECONDS
      NO_REQUEST = 'a request is one line of JSON, such as {"v":1,"command":"status"}'
      SHOWN = 100 # characters of an unknown command
      private_constant :LONGEST, :NO_REQUEST, :SHOWN

      # follow: makes the client a follower, and returns the reply for it (Server#follow).
      def self.handle(supervisor, request, follow:, &answer)
        facts = read(request) or return answer.call({ error: NO_REQUEST })
        command = facts["command"]
        return answer.call({ error: unknown(command) }) unless NAMES.include?(command)

        field = (facts.keys - ["v", "command", *FIELDS.fetch(command)]).first
        return answer.call({ error: unknown_field(command, field) }) if field

        error = supervisor.events.guard(command, harmless: true) do
          new(supervisor, facts, follow, answer).public_send(command)
        rescue Errno::EMFILE, Errno::ENFILE => e # /proc can't be read
          why = e.message.sub(/ @ .*/, "").downcase
          answer.call({ error: "the supervisor can't read its processes' state: #{why}" })
        end
        answer.call({ error: failed(error) }) if error
      end

      # The exception is a bug in skep, not a wrong request.
      def self.failed(error) = "the command failed in the supervisor (#{error.class}): see its log"

      # Returns the request's facts; nil if it isn't a request.
      def self.read(request)
        facts = JSON.parse(request)
        facts if facts.is_a?(Hash)
      rescue JSON::ParserError, EncodingError
        nil
      end
      private_class_method :read

      def self.unknown(command)
        "unknown command #{command.inspect[0, SHOWN]}: there are #{NAMES.join(", ")}"
      end
      private_class_method :unknown

      def self.unknown_field(command, field)
        known = FIELDS.fetch(command)
        known = known.any? ? "there are #{known.join(", ")}" : "it takes none"
        "unknown field #{field.inspect[0, SHOWN]} of #{command}: #{known}"
      end
      private_class_method :unknown_field

      def initialize(supervisor, facts, follow, answer)
        @supervisor = supervisor
        @facts = facts
        @follow = follow
        @answer = answer
      end

      def status = @answer.call({ status: @supervisor.snapshot })

      # For clients of other versions.
      def commands = @answer.call({ commands: FIELDS })

      def follow = @answer.call(@follow.call(debug: @facts["debug"] == true))

      def history
        live, series, debug = %w[live series debug].map { |field| @facts[field] == true }
        @answer.call(@follow.call(history: true, live:, series:, debug:))
      end

      def stop = start("stop") { @supervisor.stop }
      def quiet = start("quiet") { @supervisor.quiet }
      def backtraces = start("backtraces") { @supervisor.backtraces }

      # {"seconds":10}
      def profile
        seconds = @facts["seconds"]
        return refuse("a profile takes 1 to #{LONGEST} seconds") unless seconds_valid?(seconds)

        pool = @supervisor.node_pool or return refuse("the swarm is still booting: it has no nodes")
        why = pool.profile(seconds) { |facts| @answer.call({ profile: about.merge(facts) }) }
        refuse(why) if why
      end

      # In the loop's next turn, as `quiet`: requests take effect in their order.
      def resume
        later { @answer.call({ done: "resume", was_quiet: @supervisor.end_quiet }) }
      end

      def restart
        run_rollout("restart", @facts.fetch("node", :all), work: @facts["work"])
      end

      def reload = run_rollout("reload")

      # {"nodes":3}, {"nodes":3,"work":"orders"} or {"works":{"orders":3,"web":2}}
      def scale
        works = @facts["works"]
        works ||= { @facts["work"] => @facts["nodes"] } if @facts.key?("work")
        before = slots.dup
        why = @supervisor.changes.scale(@facts["nodes"], works:)
        return refuse(why) if why

        changed = works&.to_h { |name, to| [name, [count(before, name), to]] }
        @answer.call({ done: "scale", from: before.size, to: slots.size, works: changed }.compact)
      end

      # For `skep chaos`: a fault that only the node can inject into itself.
      def chaos
        node = slots.find { |slot| slot.id == @facts["node"] }&.node
        order = @facts.slice("order", "bytes")
        return @answer.call({ error: no_chaos }) unless @supervisor.config.chaos

        valid = Swarm::IPC::Messages::TO_NODE.fault("chaos", order).nil?
        node.channel.post("chaos", order) if valid && node&.ready?
        @answer.call({ done: "chaos" })
      end

      private

      def slots = @supervisor.node_pool&.slots || []
      def count(slots, work) = slots.count { |slot| slot.work_name == work }

      def seconds_valid?(seconds) = seconds.is_a?(Numeric) && seconds.between?(1, LONGEST)
      def about = { swarm: @supervisor.config.name, skep: Skep::VERSION, ruby: RUBY_VERSION }

      def no_chaos
        "swarm #{@supervisor.config.name} injects no faults: give it `chaos: true`"
      end

      # Runs the block in the loop's next turn.
      def later(&act)
        @supervisor.loop.after(0) do
          error = @supervisor.events.guard(@facts["command"], harmless: true, &act)
          refuse(self.class.failed(error)) if error
        end
      end

      def refuse(why) = @answer.call({ error: why })

      def start(name, &act)
        later(&act)
        @answer.call({ done: name })
      end

      def run_rollout(name, *which, **facts)
        waits = @facts["wait"] != false
        on_finished = ->(why) { @answer.call(replacing(name, why)) if waits }
        later { @supervisor.changes.public_send(name, *which, **facts, &on_finished) }
        @answer.call(replacing(name, nil)) unless waits
      end

      def result(name, why) = why ? { error: why } : { done: name }

      # New nodes of a quiet swarm are quiet, too.
      def replacing(name, why)
        result(name, why).merge(@supervisor.quiet? && !why ? { quiet: true } : {})
      end
    end
  end
end
