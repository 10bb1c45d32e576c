# frozen_string_literal: true

# Runs random handlers: `command.rb SEEDS FIRST`, or one of them with SEED=17. Prints the first
# program that breaks a rule, reduced, and ends with 1 then.
require "kafka/fuzz/search"

search = HandlerFuzz::Search.new
if ENV["SEED"]
  seed = Integer(ENV.fetch("SEED"))
  puts HandlerFuzz::Program.random(seed)
  report = search.seed(seed)
else
  count, first = ARGV.map { |number| Integer(number) }
  report = search.seeds(first...(first + count))
end
abort report if report
puts "#{seed ? 1 : count} programs broke no rule"
