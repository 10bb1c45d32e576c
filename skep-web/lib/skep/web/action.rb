# frozen_string_literal: true

module Skep
  class Web
    # A command that a visitor sends to a swarm by one of the page's buttons.
    #
    #   Action.new(registry, request, session).perform   # => {"done" => "scale"}; RequestRefused
    #
    # A profile takes PROFILE_SECONDS, and a thread of the server for as long. A swarm takes one at
    # a time. The server's error stream gets a line with the name of its user.
    class Action
      COMMANDS = %w[restart reload scale quiet resume stop backtraces profile].freeze
      PROFILE_SECONDS = 5
      PROFILE_TIMEOUT = 30.0
      TOP = 8 # methods of each work
      private_constant :COMMANDS, :PROFILE_SECONDS, :PROFILE_TIMEOUT, :TOP

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
        command == "profile" ? hottest(answer["profile"]) : answer
      end

      private

      def command = @form["command"]
      def swarm = @form["swarm"].to_s

      def arguments
        case command
        when "scale" then { nodes: @form["nodes"], work: @form["work"] }.compact
        when "profile" then { seconds: PROFILE_SECONDS, timeout: PROFILE_TIMEOUT }
        when "restart", "reload" then { wait: false }
        else {}
        end
      end

      # Returns the methods of each work with the most CPU time.
      def hottest(answer)
        profile = Control::Profile.of(answer)
        works = profile.works.to_h { |work| [work.to_s, profile.select(work:).top("cpu", TOP)] }
        { done: command, seconds: PROFILE_SECONDS, cpu: profile.seconds("cpu").round(2), works:,
          missing: profile.missing.map { |node| node.slice("node", "why") } }
      rescue Control::InvalidAnswer
        raise RequestRefused.new(503, "swarm #{swarm} doesn't answer as a swarm does")
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
