# frozen_string_literal: true

# The supervisor's descriptors and private memory over time.
#
#   sampler = SupervisorSampler.new(pid)
#   sampler.sample           # now; nothing once the process has ended
#   sampler.samples          # => [Sample(seconds, descriptors, bytes), …]
module Skep
  module CLI
    module Chaos
      class SupervisorSampler
        Sample = Struct.new(:seconds, :descriptors, :bytes)

        attr_reader :samples

        def initialize(pid)
          @pid = pid
          @started_at = OS.now
          @samples = []
        end

        def sample
          memory = OS::Memory.of(@pid) or return
          descriptors = Dir.children("/proc/#{@pid}/fd").size
          @samples << Sample.new((OS.now - @started_at).round(1), descriptors, memory.uss)
        rescue Errno::ENOENT, Errno::ESRCH, Errno::EACCES # it has ended, or is another user's
          nil
        end
      end
    end
  end
end
