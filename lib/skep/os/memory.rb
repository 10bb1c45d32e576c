# frozen_string_literal: true

# How much memory a process uses, in bytes.
#
#   memory = Skep::OS::Memory.of(pid)   # nil where it can't be told: dead, no /proc, no descriptor
#   memory.rss      # resident, shared pages counted in full
#   memory.pss      # resident, each shared page divided by the number of its sharers
#   memory.uss      # private: what its death would give back
#   memory.shared   # resident and shared with others
#   memory.swap     # written to swap space
#   Skep::OS::Memory.trim   # malloc_trim(3)
#   Skep::OS::Memory.fill_holes(8 << 20)   # => bytes; before a fork
#
# Sums over processes that share memory are true for pss and uss only.
# Source: proc(5), /proc/[pid]/smaps_rollup (Linux 4.14).
module Skep
  module OS
    class Memory < Struct.new(:rss, :pss, :uss, :shared, :swap, keyword_init: true)
      # What the C does better: the fallback has no malloc to ask.
      module Fallback
        # Gives the C heap's free pages back to the system; false where nothing was given.
        #
        #: () -> bool
        def trim = false

        # Fills small holes between what lies in the C heap, so many bytes of them at most, that a
        # child finds none to put something into, for which it would copy a page. Returns bytes.
        #
        #: (Integer most) -> Integer
        def fill_holes(_most) = 0

        # What was filled is free again.
        #
        #: () -> void
        def open_holes = nil
      end
      private_constant :Fallback
      extend Fallback

      # Raises Errno::EACCES for the process of another user.
      #
      #: (?Integer pid) -> Memory?
      def self.of(pid = Process.pid)
        bytes = rollup(pid) or return
        new(rss: bytes["Rss"], pss: bytes["Pss"], swap: bytes["Swap"],
            uss: bytes["Private_Clean"] + bytes["Private_Dirty"],
            shared: bytes["Shared_Clean"] + bytes["Shared_Dirty"]).freeze
      end

      # Anonymous memory in huge pages.
      #
      #: (?Integer pid) -> Integer?
      def self.huge_bytes(pid = Process.pid) = rollup(pid)&.fetch("AnonHugePages", 0)

      #: (Integer pid) -> Hash[String, Integer]?
      def self.rollup(pid)
        lines = File.read("/proc/#{pid}/smaps_rollup").scan(/^(\w+): +(\d+) kB$/)
        lines.to_h { |name, kilobytes| [name, Integer(kilobytes) * 1024] } if lines.any?
      rescue Errno::ENOENT, Errno::ESRCH, Errno::EMFILE, Errno::ENFILE
        nil # Dead, or a zombie, which has no memory left; or there is no descriptor to look with.
      end
      private_class_method :rollup
    end
  end
end

require "skep/os/memory/statm"
require "skep/os/memory/oom_score"
require "skep/os/memory/huge_pages"
require "skep/os/memory/heap_page_slab"
