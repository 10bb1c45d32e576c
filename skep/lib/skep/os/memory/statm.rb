# frozen_string_literal: true

require "etc"

# The kernel's running counters of a process' memory. Reading them takes 10 microseconds, whatever
# its size, where Memory.of visits every page and takes 17 ms for each gigabyte.
#
#   statm = Skep::OS::Memory::Statm.of(pid)   # nil if it is dead or there is no /proc
#   statm.rss         # bytes, shared pages counted in full: never less than USS
#   statm.anonymous   # the same without file-backed and shared memory
#
# It does not distinguish shared from private pages. But a new page is private, and a page that a
# write makes private was counted before: USS grows by at least as much as `anonymous`. Some kernels
# lag behind by up to some dozen pages for each processor. Source: proc(5), /proc/[pid]/statm.
module Skep
  module OS
    class Memory
      class Statm < Struct.new(:rss, :anonymous, keyword_init: true)
        PAGE = Etc.sysconf(Etc::SC_PAGESIZE)
        private_constant :PAGE

        # Returns true if this system has these counters.
        def self.known? = OS.machine.exist?("/proc/self/statm")

        def self.of(pid = Process.pid)
          _size, resident, shared = OS.machine.read("/proc/#{pid}/statm").split.first(3).map(&:to_i)
          new(rss: resident * PAGE, anonymous: (resident - shared) * PAGE) if resident&.positive?
        rescue SystemCallError
          nil # Dead, a /proc that hides it, or no descriptor is left.
        end
      end
    end
  end
end
