# frozen_string_literal: true

module Skep
  # What can go wrong with the control socket, at either end.
  module Control
    # The supervisor can't listen at the path.
    class CannotListen < Skep::Error
      def initialize(path:, error:)
        super("the control socket #{path} can't be made, #{error}: name another with control:")
      end

      # The exit code of `skep run`: the configuration is wrong.
      def exit_code = ExitCode::CONFIGURATION
    end

    # Nothing answers at the path, or not in time, or not as a swarm does.
    class Unreachable < Skep::Error
      attr_reader :error # why

      # Returns the error for what connecting to the path raised.
      def self.because(path, error)
        new(path:, error: error.message.sub(/ - .*/, "").downcase)
      end

      def initialize(path:, error:)
        @error = error
        super("no swarm answers at #{path}, #{error}: " \
              "is it running? name it, or its socket with --control PATH")
      end
    end

    # The swarm refuses the command.
    class CommandRefused < Skep::Error
    end

    # The supervisor runs another version of skep, and doesn't know the command, or a field of it.
    class OtherVersion < CommandRefused
      def initialize(path:, command:, fields:, skep:)
        what = ["the command #{command}", *("with #{fields.join(", ")}" if fields.any?)].join(" ")
        super("the supervisor at #{path} runs another version of skep (#{skep || "unknown"}; " \
              "this is #{Skep::VERSION}) and doesn't know #{what}: stop the swarm and start it " \
              "again with this version")
      end
    end

    # The swarm answers, but its events can't be followed.
    class EventsRefused < Skep::Error
      def initialize(path:, error:)
        super("the swarm at #{path} can't be followed: #{error}")
      end
    end

    # The pids in the answer aren't those that this process sees.
    class PidMismatch < Skep::Error
      def initialize(path:, pid:, peer:)
        answers = peer&.positive? ? "process #{peer}" : "a process that can't be seen here"
        super("the swarm at #{path} reports process #{pid}, but #{answers} answers: it runs " \
              "in another container, or isn't a swarm; run this command where it runs")
      end
    end

    # The answer isn't one that a swarm gives.
    class InvalidAnswer < Skep::Error
      def initialize(why = "what answers isn't a swarm") = super
    end
  end
end
