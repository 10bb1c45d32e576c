# frozen_string_literal: true

require "json"

# How much time was spent in each stack. It has a limit of stacks, and its plain form one of bytes.
#
#   table = StackTable.new
#   table.add("cpu", "skep.worker.1", label, 17, frames, 0.01)
#   table.to_plain(65_536)
#   # => { "threads" => ["skep.worker.1"], "labels" => [{}],
#   #      "frames" => [["Order#total", "app/order.rb", 12]],
#   #      "stacks" => [["cpu", 0, 0, 17, [0], 0.01]],
#   #      "dropped" => { "cpu" => 0.2 }, "dropped_stacks" => 7 }
#
# A stack is a state, a thread's name, a label (Hash), the line of its innermost frame, and its
# frames, the innermost first: a name, a file and a line each, the last two may be nil. The heaviest
# stacks are kept if there are too many bytes, and the time of all others is told by state.
module Skep
  class Swarm
    module Profiling
      class StackTable
        MOST = 10_000
        private_constant :MOST

        def initialize(most: MOST)
          @most = most
          @weights = Hash.new(0.0)
          @dropped = Hash.new(0.0)
          @dropped_stacks = 0
        end

        # seconds: how long that stack was seen.
        def add(state, thread, label, line, frames, seconds)
          key = [state, thread, label, line, frames]
          return drop(state, seconds) if @weights.size >= @most && !@weights.key?(key)

          @weights[key] += seconds
        end

        # Time of a stack that isn't known.
        def drop(state, seconds)
          @dropped[state] += seconds
          @dropped_stacks += 1
        end

        # bytes: how long it may be as JSON, not much less than 1 KiB.
        def to_plain(bytes)
          plain = { "threads" => [], "labels" => [], "frames" => [], "stacks" => [] }
          @numbers = Hash.new { |all, list| all[list] = {} }
          left = bytes - 512
          @weights.sort_by { |_, seconds| -seconds }.each do |key, seconds|
            bytes = size(key)
            next drop(key.first, seconds) if bytes > left

            left -= bytes
            plain["stacks"] << stack(plain, key, seconds)
          end
          { **plain, "dropped" => @dropped.transform_values { |one| one.round(4) },
            "dropped_stacks" => @dropped_stacks }
        end

        private

        def stack(plain, key, seconds)
          state, thread, label, line, frames = key
          [state, number(plain, "threads", thread), number(plain, "labels", label), line,
           frames.map { |frame| number(plain, "frames", frame) }, seconds.round(4)]
        end

        def number(plain, list, value)
          @numbers[list][value] ||= begin
            plain[list] << value
            plain[list].size - 1
          end
        end

        # Of a stack as JSON, with what it names that no stack before it has named.
        def size(key)
          _, thread, label, _, frames = key
          new = [*new("threads", [thread]), *new("labels", [label]), *new("frames", frames.uniq)]
          40 + (6 * frames.size) + new.sum { |value| JSON.generate(value).bytesize + 1 }
        end

        def new(list, values) = values.reject { |value| @numbers[list].key?(value) }
      end
    end
  end
end
