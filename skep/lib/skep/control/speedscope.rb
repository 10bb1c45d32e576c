# frozen_string_literal: true

require "json"

# A Profile as a file that https://www.speedscope.app shows.
#
#   Speedscope.of(profile)   # => a String of JSON
#
# It has a profile for each state in which threads were seen. The outermost frames are the work,
# what its thread worked on, the node and the thread: in the view "Left Heavy" they tell the
# samples apart.
module Skep
  module Control
    module Speedscope
      SCHEMA = "https://www.speedscope.app/file-format-schema.json"
      private_constant :SCHEMA

      class << self
        def of(profile)
          frames = {}
          profiles = Profile::STATES.filter_map do |state, name|
            stacks = profile.stacks.select { |stack| stack.state == state }
            sampled(name, stacks, frames) if stacks.any?
          end
          JSON.generate({ "$schema" => SCHEMA, name: profile.swarm, exporter: "skep #{Skep::VERSION}",
                          activeProfileIndex: 0, shared: { frames: frames.keys }, profiles: })
        end

        private

        def sampled(name, stacks, frames)
          samples = stacks.map do |stack|
            [*origin(stack), *stack.frames.reverse.map { |frame| facts(*frame) }]
              .map { |frame| frames[frame] ||= frames.size }
          end
          { type: "sampled", name:, unit: "seconds", startValue: 0,
            endValue: stacks.sum(&:seconds).round(4), samples:, weights: stacks.map(&:seconds) }
        end

        def facts(name, file, line) = { name:, file:, line: }.compact

        def origin(stack)
          label = stack.label.map { |name, value| "#{name} #{value}" }
          ["work #{stack.node.work || "without a name"}", *label, "node #{stack.node.id}",
           "thread #{stack.thread}"].map { |name| { name: } }
        end
      end
    end
  end
end
