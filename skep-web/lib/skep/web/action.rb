# frozen_string_literal: true

module Skep
  class Web
    # A command that a visitor sends to a swarm by one of the page's buttons.
    #
    #   Action.new(registry, request, session).perform   # => {"done" => "scale"}; RequestRefused
    #
    # The server's error stream gets a line with the name of its user.
    class Action
      COMMANDS = %w[restart reload scale quiet resume stop backtraces].freeze
      private_constant :COMMANDS

      def initialize(registry, request, session)
        @registry = registry
        @request = request
        @session = session
      end

      def perform
        @session.authorize(@request.get_header("HTTP_X_SKEP_TOKEN"))
        @form = @request.form
        COMMANDS.include?(command) or
          raise RequestRefused.new(400, "there is no command #{command.inspect}")
        answer = @registry.call(swarm, command, **arguments)
        raise RequestRefused.new(409, answer["error"]) if answer["error"]

        report
        answer
      end

      private

      def command = @form["command"]
      def swarm = @form["swarm"].to_s

      def arguments
        return { wait: false } unless command == "scale"

        { nodes: @form["nodes"], work: @form["work"] }.compact
      end

      def report
        scale = [@form["work"], @form["nodes"]].compact.join("=") if command == "scale"
        what = [command, *scale].join(" ")
        name = @session.name || "a visitor"
        @request.env["rack.errors"]&.puts("skep web: #{name} sent #{what} to #{swarm}")
      end
    end
  end
end
