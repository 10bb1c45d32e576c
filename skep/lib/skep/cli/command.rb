# frozen_string_literal: true

# What all commands share: options, --help and arguments.
#
#   class Hello < Command
#     SUMMARY = "Greet a person"
#     USAGE = "skep hello NAME"
#     private def perform = out.puts("hello #{argument("NAME")}") || 0
#   end
module Skep
  module CLI
    class Command
      EXAMPLES = [].freeze
      ARGUMENT = nil # what shells complete its arguments with: :swarm, :file or an Array of words

      def initialize(argv, out:, err:)
        @out = out
        @err = err
        @options = {}
        @arguments = parser.parse(argv)
      rescue ArgumentError => e # bytes that are invalid in this locale's encoding
        raise UsageError, "can't read the command line: #{e.message}; " \
                          "set LANG to the encoding it is in"
      end

      # Returns the exit code.
      def run
        return show_help if @options[:help]

        perform
      end

      # Its options, as OptionParser::Switch.
      def switches = parser.top.list.grep(OptionParser::Switch)

      private

      attr_reader :out, :err, :options, :arguments

      def parser
        @parser ||= OptionParser.new do |parser|
          parser.banner = "usage: #{self.class::USAGE}\n#{self.class::SUMMARY}\n\n"
          declare(parser)
          parser.on("-h", "--help", "show this") { options[:help] = true }
        end
      end

      # A subclass adds its options to the OptionParser.
      def declare(parser) = nil

      def show_help
        out.puts(parser.help)
        examples = self.class::EXAMPLES.map { |line| "  #{line}" }
        out.puts("", "examples:", examples) if examples.any?
        0
      end

      # Takes the next argument.
      def argument(name)
        arguments.shift or raise UsageError, "missing argument: #{name}: #{usage}"
      end

      def reject_extra_arguments!
        return if arguments.empty?

        raise UsageError, "unexpected argument: #{arguments.first}: #{usage}"
      end

      def usage = "usage: #{self.class::USAGE}"
    end
  end
end
