# frozen_string_literal: true

# What all commands share: options, --help, and the arguments that are left.
#
#   class Hello < Command
#     PURPOSE = "says hello"
#     USAGE = "skep hello NAME"
#     def run = help || (out.puts("hello #{argument('a name')}"); 0)
#   end
module Skep
  module CLI
    class Command
      EXAMPLES = [].freeze
      TAKES = nil # what its arguments are, for completion: :swarm, :file, or words

      def initialize(argv, out:, err:) #: (Array[String], out: IO, err: IO) -> void
        @out = out
        @err = err
        @options = {}
        @arguments = parser.parse(argv)
      rescue ArgumentError => e # bytes that are no text in this locale
        raise Misuse, "the command line can't be read: #{e.message}; " \
                      "set LANG to the encoding it is in"
      end

      def run #: () -> Integer
        return show_help if @options[:help]

        perform
      end

      # Its options, as OptionParser has them.
      def switches = parser.top.list.grep(OptionParser::Switch) #: () -> Array[OptionParser::Switch]

      private

      attr_reader :out, :err, :options

      def parser
        @parser ||= OptionParser.new do |parser|
          parser.banner = "usage: #{self.class::USAGE}\n#{self.class::PURPOSE}\n\n"
          declare(parser)
          parser.on("-h", "--help", "show this") { options[:help] = true }
        end
      end

      def declare(parser) = nil

      def show_help
        out.puts(parser.help)
        examples = self.class::EXAMPLES.map { |line| "  #{line}" }
        out.puts("", "examples:", examples) if examples.any?
        0
      end

      def argument(what)
        @arguments.shift or raise Misuse, "#{what} is missing: usage: #{self.class::USAGE}"
      end

      def nothing_more
        return unless @arguments.any?

        raise Misuse, "#{@arguments.first.inspect} is too much: usage: #{self.class::USAGE}"
      end
    end
  end
end
