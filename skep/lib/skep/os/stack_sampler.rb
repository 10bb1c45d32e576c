# frozen_string_literal: true

# Samples the stacks of this process' threads while they use the CPU.
#
#   StackSampler.start(10_000)   # => true; a sample for each 10 ms of CPU time, of any thread
#   StackSampler.take            # => the samples since then, at least each 5 s of CPU time
#   StackSampler.stop
#   StackSampler.frame(3)        # => ["Order#total", "app/order.rb", 12]; until the next start
#   StackSampler.lost            # => how many samples had no room since the last call
#   StackSampler.times(tid)      # => [1.25, 0.5]: seconds of a thread on a CPU and in its queue;
#                                #    nil: it has ended, or that is not known
#
# A sample is a String of unsigned 32-bit numbers: the kernel's number of the thread, its label, the
# kind, the innermost line that is known, the index of its frame, then the frames' numbers, the
# innermost first. 0 is the number of an unknown frame. A frame is a method's name, file and first
# line; C functions have the name only. `label=` sets the label of the calling thread.
#
# YJIT doesn't keep the line of the innermost method: the known line is a caller's then.
#
# SIGPROF interrupts the thread that uses the CPU, and its handler reads the stack: no thread waits
# for the GVL. `start` returns false if another profiler has the signal or its timer.
module Skep
  module OS
    module StackSampler
      RUBY = 0 # kinds: Ruby code, or C code that it has called
      GC = 1 # a garbage collection; it has no frames
      NATIVE = 2 # a thread that isn't Ruby's, or C code beside another's GC; it has no frames

      # Takes no samples: in Ruby only a thread that holds the GVL sees the others' stacks, and they
      # are never at work then.
      module Fallback
        def start(_microseconds) = false
        def take = []
        def stop = nil
        def frame(_number) = nil
        def lost = 0

        def times(tid)
          File.read("/proc/self/task/#{tid}/schedstat").split.first(2).map { |one| one.to_i / 1e9 }
        rescue SystemCallError # it has ended, or this isn't Linux
          nil
        end

        def label=(number)
          number
        end
      end
      private_constant :Fallback

      extend Fallback
    end
  end
end
