# frozen_string_literal: true

# A command for a swarm file: the FILE that is named, or the default one. What follows `--` are
# arguments for the file.
module Skep
  module CLI
    class FileCommand < Command
      DEFAULT_FILES = %w[config/skep.rb swarm.rb].freeze
      ARGUMENT = :file

      def initialize(argv, out:, err:)
        own = argv.take_while { |word| word != "--" }
        @file_arguments = argv.drop(own.size + 1)
        super(own, out:, err:)
      end

      private

      # Takes the swarm file from the arguments. Those after it are for the file, too.
      def swarm_file
        file = arguments.shift || default_file and return file

        raise UsageError, "missing argument: FILE: " \
                          "there is no #{DEFAULT_FILES.join(" or ")} here; #{usage}"
      end

      def default_file = DEFAULT_FILES.find { |path| File.file?(path) }

      def file_arguments = [*arguments, *@file_arguments]
    end
  end
end
