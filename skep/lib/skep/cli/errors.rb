# frozen_string_literal: true

# The errors of the command line. `skep` prints their message as one sentence on stderr.
module Skep
  module CLI
    # The command line itself is wrong: a command, an option or an argument.
    class UsageError < Skep::Error
      def exit_code = ExitCode::USAGE
    end

    # The command line is right, but the command can't be done as things are: there is no such
    # swarm, or the swarm refuses it.
    class CommandFailed < Skep::Error
    end
  end
end
