# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # What a visitor wants done to a swarm, by one of the page's buttons.
      #
      #   Deed.new(swarms, request, visitor).perform   # => {"done" => "scale"}; Refused
      #
      # It is told on the server's error stream who did it.
      class Deed
        COMMANDS = %w[restart reload scale quiet stop backtraces].freeze
        private_constant :COMMANDS

        def initialize(swarms, request, visitor) #: (Swarms, Request, Visitor) -> void
          @swarms = swarms
          @request = request
          @visitor = visitor
        end

        def perform #: () -> Hash[String, untyped]
          @visitor.allow(@request.header("X_SKEP_TOKEN"))
          @form = @request.form
          COMMANDS.include?(command) or raise Refused.new(400, "there is no #{command.inspect}")
          answer = @swarms.ask(swarm, command, **facts)
          raise Refused.new(409, answer["error"]) if answer["error"]

          report
          answer
        end

        private

        def command = @form["command"]
        def swarm = @form["swarm"].to_s

        def facts
          command == "scale" ? { nodes: @form["nodes"] } : { wait: false }
        end

        def report
          what = [command, *(@form["nodes"] if command == "scale")].join(" ")
          who = @visitor.name || "somebody"
          @request.env["rack.errors"]&.puts("skep web: #{who} asked of #{swarm}: #{what}")
        end
      end
      private_constant :Deed
    end
  end
end
