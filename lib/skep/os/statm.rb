# frozen_string_literal: true

require "etc"

# What the kernel counts of a process' memory as it goes: ten microseconds to read, however much it
# is, where Memory.of looks at every page and takes 17 ms a gigabyte.
#
#   resident = Skep::OS::Statm.of(pid)   # nil where it can't be told: dead, no /proc
#   resident.rss         # bytes, shared pages counted in full: never less than its USS
#   resident.anonymous   # the same without what files and shared memory back
#
# It can't tell shared from private. But a page that is made is private, and a page that a write
# makes private was counted before: what `anonymous` has grown by, USS has grown by at least.
# Source: proc(5), /proc/[pid]/statm. Some kernels are up to some dozen pages a processor behind.
module Skep
  module OS
    class Statm < Struct.new(:rss, :anonymous, keyword_init: true)
      PAGE = Etc.sysconf(Etc::SC_PAGESIZE)
      private_constant :PAGE

      # Is there a /proc that tells of it?
      #
      #: () -> bool
      def self.known? = File.exist?("/proc/self/statm")

      #: (?Integer pid) -> Statm?
      def self.of(pid = Process.pid)
        _size, resident, shared = File.read("/proc/#{pid}/statm").split.first(3).map(&:to_i)
        new(rss: resident * PAGE, anonymous: (resident - shared) * PAGE) if resident&.positive?
      rescue Errno::ENOENT, Errno::ESRCH, Errno::EMFILE, Errno::ENFILE
        nil # Dead, or there is no descriptor to look with.
      end
    end
  end
end
