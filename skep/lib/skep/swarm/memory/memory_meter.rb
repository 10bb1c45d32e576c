# frozen_string_literal: true

# Measures the memory of the node in which it runs, for the node's control thread.
#
#   meter = MemoryMeter.new(page, layout.memory(3), config, nodes: 4)
#   meter.limit = 1 << 30   # of its work; else the swarm's
#   meter.due       # => monotonic seconds when the next measurement is due
#   meter.measure   # counts the pages, and writes the result to the shared page
#
# The kernel visits every page of the process for that, which takes 17 ms for a gigabyte. So a node
# measures itself at ages that double, and then every five minutes: since then its private memory
# has grown by as much as its anonymous memory, which the supervisor reads (NodeMemory). Only if
# `memory_limit` lies between the private and the resident memory, and the node changes, it measures
# itself more often: then the pages that it has stopped sharing may exceed the limit.
module Skep
  class Swarm
    module Memory
      class MemoryMeter
        FIRST = 1.0
        SELDOM = 300.0 # seconds between two measurements of an old node, at least REST timeouts
        REST = 2       # liveness_timeouts: an idle node wakes up for little else
        OFTEN = 1.0..60.0 # seconds, a tenth of the node's age
        COST = 1000.0  # measurements of all nodes may use a thousandth of a processor
        CHANGED = 1 << 20 # bytes
        private_constant :FIRST, :SELDOM, :REST, :OFTEN, :COST, :CHANGED

        attr_reader :due
        attr_writer :limit

        # nodes: how many the swarm has. count: returns a sample of this process' memory, {} if it
        # can't.
        def initialize(page, cell, config, nodes:, now: OS.now,
                       count: IPC::Scoreboard::MemorySample.method(:of_self))
          @page = page
          @cell = cell
          @limit = config.memory_limit
          @longest = [SELDOM, REST * config.liveness_timeout].max
          @cost = COST * nodes
          @count = count
          @born_at = now
          @due = now + FIRST
          page.clear(cell) # the process that had this cell before has ended
        end

        def due?(now = OS.now) = now >= due

        def measure(now = OS.now)
          began = processor_time
          sample = @count.call
          IPC::Scoreboard::MemorySample.leave(@page, @cell, now, sample)
          seconds = sample.empty? ? 0 : processor_time - began
          @due = now + [pause(sample, now), seconds * @cost].max
          @last = sample unless sample.empty?
        end

        private

        def processor_time = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)

        # A node that couldn't count its pages (no descriptor is free) tries again soon.
        def pause(sample, now)
          age = now - @born_at
          return (age / 10).clamp(OFTEN) if sample.empty? || (in_doubt?(sample) && changed?(sample))

          age.clamp(FIRST, @longest)
        end

        def in_doubt?(sample) = @limit && @limit.between?(sample["uss"], sample["rss"])

        def changed?(sample)
          @last.nil? ||
            %w[rss anonymous].any? { |kind| (sample[kind] - @last[kind]).abs >= CHANGED }
        end
      end
    end
  end
end
