# frozen_string_literal: true

# Counts the supervisor's lines that seeds reach. A separate Ruby process counts them: it loads skep
# after the coverage has started.
module Simulation
  module Reach
    FOLDERS = %w[supervisor nodes molds health memory spares rollout].freeze
    PROGRAM = <<~'RUBY'
      require "coverage"
      Coverage.start(lines: true)
      require "simulation/campaign"
      (1..Integer(ARGV[0])).each do |seed|
        Simulation::Campaign.verdict(Simulation::Schedule.of(seed))
      end
      puts JSON.generate(Coverage.result.transform_values { |one| one[:lines] })
    RUBY
    private_constant :FOLDERS, :PROGRAM

    class << self
      def show(seeds)
        files = lines(seeds)
        files.each do |path, counts|
          missed = counts.each_index.select { |index|
            counts[index]&.zero?
          }.map { |index| index + 1 }
          puts format("%-46s %5.1f %%  %s", path, share(counts), missed.join(" ")) if missed.any?
        end
        all = files.values.flatten
        puts format("%.1f %% of %d lines", share(all), all.compact.size)
        true
      end

      private

      def lines(seeds)
        command = [RbConfig.ruby, "-r./test/load_path", "-e", PROGRAM, seeds.to_s]
        text = IO.popen(command, &:read)
        all = JSON.parse(text).transform_keys { |path| path[%r{/lib/skep/swarm/(.*)}, 1].to_s }
        ours = all.select do |path, _|
          path == "supervisor.rb" || FOLDERS.include?(path[%r{\A\w+(?=/)}])
        end
        ours.sort.to_h
      end

      def share(counts)
        counts = counts.compact
        100.0 * counts.count(&:positive?) / counts.size
      end
    end
  end
end
