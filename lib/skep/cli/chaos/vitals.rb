# frozen_string_literal: true

# The supervisor's descriptors and private memory over time.
#
#   vitals = Vitals.new(pid)
#   vitals.take                  # now; nothing once it is gone
#   vitals.samples               # => [Sample(seconds, descriptors, bytes), …]
module Skep
  module CLI
    class Chaos
      class Vitals
        Sample = Struct.new(:seconds, :descriptors, :bytes)

        attr_reader :samples #: Array[Sample]

        def initialize(pid) #: (Integer) -> void
          @pid = pid
          @began = OS.now
          @samples = []
        end

        def take #: () -> void
          memory = OS::Memory.of(@pid) or return
          descriptors = Dir.children("/proc/#{@pid}/fd").size
          @samples << Sample.new((OS.now - @began).round(1), descriptors, memory.uss)
        rescue Errno::ENOENT, Errno::ESRCH, Errno::EACCES # it has ended, or it is another user's
          nil
        end
      end
      private_constant :Vitals
    end
  end
end
