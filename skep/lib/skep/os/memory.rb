# frozen_string_literal: true

# The memory that a process uses, in bytes.
#
#   memory = Skep::OS::Memory.of(pid)   # nil if it is dead, without /proc, or without a descriptor
#   memory.rss      # resident, shared pages counted in full
#   memory.pss      # resident, each shared page divided by the number of its sharers
#   memory.uss      # private: what its end would free
#   memory.shared   # resident and shared with others
#   memory.swap     # written to swap space
#   Skep::OS::Memory.trim   # malloc_trim(3)
#   Skep::OS::Memory.fill_holes(8 << 20)   # => bytes; before a fork
#
# Statm reads cheaper but coarser counters; OomScore sets the OOM killer's preference; HugePages
# arranges this process' heap for forks.
#
# Only pss and uss may be added up over processes that share memory.
# Source: proc(5), /proc/[pid]/smaps_rollup (Linux 4.14).
module Skep
  module OS
    class Memory < Struct.new(:rss, :pss, :uss, :shared, :swap, keyword_init: true)
      # Ruby can't reach malloc: the fallback does nothing.
      module Fallback
        # Returns the C heap's free pages to the system; false if there were none.
        def trim = false

        # Allocates the small holes in the C heap, up to so many bytes, so that a forked child
        # doesn't put data into them and copy their pages. Returns the number of bytes.
        def fill_holes(_most) = 0

        # Frees the holes again.
        def open_holes = nil
      end
      private_constant :Fallback
      extend Fallback

      # Raises Errno::EACCES for the process of another user.
      def self.of(pid = Process.pid)
        bytes = rollup(pid) or return
        new(rss: bytes["Rss"], pss: bytes["Pss"], swap: bytes["Swap"],
            uss: bytes["Private_Clean"] + bytes["Private_Dirty"],
            shared: bytes["Shared_Clean"] + bytes["Shared_Dirty"]).freeze
      end

      # Anonymous memory in huge pages.
      def self.huge_bytes(pid = Process.pid) = rollup(pid)&.fetch("AnonHugePages", 0)

      def self.rollup(pid)
        lines = File.read("/proc/#{pid}/smaps_rollup").scan(/^(\w+): +(\d+) kB$/)
        lines.to_h { |name, kilobytes| [name, Integer(kilobytes) * 1024] } if lines.any?
      rescue Errno::ENOENT, Errno::ESRCH, Errno::EMFILE, Errno::ENFILE
        nil # Dead, a zombie, which has no memory, or no descriptor is left.
      end
      private_class_method :rollup
    end
  end
end

require "skep/os/memory/statm"
require "skep/os/memory/oom_score"
require "skep/os/memory/huge_pages"
