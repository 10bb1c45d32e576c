# frozen_string_literal: true

# The command behind the rake tasks of the simulation:
#
#   ruby -r./test/load_path test/simulation/command.rb seeds 10000 [FIRST]
#   ruby -r./test/load_path test/simulation/command.rb seed 42          # replays and shrinks
#   ruby -r./test/load_path test/simulation/command.rb mutations
#   ruby -r./test/load_path test/simulation/command.rb coverage 2000  # lines that seeds miss
require "simulation/campaign"
require "simulation/shrink"
require "simulation/reach"

module Simulation
  module Command
    class << self
      def seeds(count = "10000", first = "1")
        first, count = Integer(first), Integer(count)
        campaign = Campaign.new(first...(first + count))
        found = campaign.run
        found.each { |seed, what| puts "seed #{seed}: #{what}" }
        puts format("%d seeds, %d failed, %.1f s, %.0f seeds a second", count, found.size,
                    campaign.seconds,
                    count / campaign.seconds)
        return true if found.empty?

        puts "not all seeds were run: too many failed" if campaign.gave_up?(found)
        puts "see each with `rake simulation:seed[N]`"
        false
      end

      def seed(number)
        schedule = Schedule.of(Integer(number))
        world = show(schedule)
        return true if world.violations.empty?

        shrink = Shrink.new(schedule)
        least = shrink.least
        puts "", "the smallest schedule that breaks it, after #{shrink.runs} runs:" if least
        show(least)
        false
      end

      def mutations(*names)
        require "simulation/mutations"
        Mutations.run(names)
      end

      # Prints the first of so many seeds that breaks an invariant.
      def hunt(count, step)
        seconds = 0.0
        1.step(Integer(count), Integer(step)) do |first|
          campaign = Campaign.new(first...(first + Integer(step)), until_found: true)
          seed, what = campaign.run.first
          seconds += campaign.seconds
          next unless seed

          puts "#{seed} #{seconds} #{what}"
          break
        end
        true
      end

      def coverage(count = "2000") = Reach.show(Integer(count))

      private

      def show(schedule)
        puts schedule
        world = World.new(schedule).run
        world.log.each do |time, name, facts|
          puts format("%10.4f  %-20s %s", time - Kernel::START, name, shown(facts))
        end
        puts "exit code #{world.code.inspect}, #{world.kernel.turns} turns"
        world.violations.each do |time, what|
          puts format("%10.4f  BROKEN: %s", time - Kernel::START, what)
        end
        world
      end

      def shown(facts) = facts.except(:backtrace, :threads, :tasks).inspect[0, 160]
    end
  end
end

exit(Simulation::Command.public_send(*ARGV)) if $PROGRAM_NAME == __FILE__
