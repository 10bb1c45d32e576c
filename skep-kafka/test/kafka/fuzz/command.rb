# frozen_string_literal: true

# The command behind the rake tasks of random handlers:
#
#   ruby -r./test/load_path skep-kafka/test/kafka/fuzz/command.rb seeds 10000 [FIRST]
#   ruby -r./test/load_path skep-kafka/test/kafka/fuzz/command.rb seed 42
#   ruby -r./test/load_path skep-kafka/test/kafka/fuzz/command.rb mutations
require "kafka/fuzz/search"

module HandlerFuzz
  module Command
    class << self
      # Prints the first program that breaks a rule, reduced.
      def seeds(count, first = "1")
        count, first = Integer(count), Integer(first)
        told(Search.new.seeds(first...(first + count)), "#{count} programs")
      end

      def seed(number)
        puts Program.random(Integer(number))
        told(Search.new.seed(Integer(number)), "it")
      end

      def mutations(*names)
        require "kafka/fuzz/mutations"
        Mutations.run(names)
      end

      # Prints the first of so many seeds whose program breaks a rule with these words.
      def hunt(count, words = "")
        began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        search, words = Search.new, Regexp.new(words)
        (1..Integer(count)).each do |seed|
          why = search.broken(Program.random(seed)) or next
          next unless why.match?(words)

          seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
          puts "#{seed} #{seconds.ceil(1)} #{why.lines.first}"
          break
        end
        true
      end

      private

      def told(report, what)
        puts report || "#{what} broke no rule"
        report.nil?
      end
    end
  end
end

exit(HandlerFuzz::Command.public_send(*ARGV)) if $PROGRAM_NAME == __FILE__
