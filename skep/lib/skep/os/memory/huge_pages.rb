# frozen_string_literal: true

# Moves this process' heap into huge pages, so that fork copies 512 times fewer page table entries.
#
#   report = Skep::OS::Memory::HugePages.collapse
#   report.pages     # huge pages gained
#   report.bytes     # in bytes
#   report.skipped   # nil, or the reason why nothing was done
#
# Call it once, before the first fork: it takes milliseconds for each megabyte. It collapses only
# anonymous private writable memory that is mostly resident, so that the process hardly grows. A
# write in a forked child still copies 4 KiB.
# Source: madvise(2), MADV_COLLAPSE (Linux 6.1).
module Skep
  module OS
    class Memory
      module HugePages
        Report = Struct.new(:pages, :bytes, :skipped, keyword_init: true)

        SIZE = 2 << 20

        # The resident share from which on a huge page's range is collapsed.
        IN_USE = 0.75

        # Huge pages need a system call that Ruby does not have: the fallback does nothing.
        module Fallback
          private

          def allowed = yield

          def unsupported = "huge pages need skep's C extension and Linux 6.1"
        end
        private_constant :Fallback

        extend Fallback

        def self.supported? = allowed { unsupported }.nil?

        def self.collapse
          before = Memory.huge_bytes || 0
          why = allowed do
            unsupported || areas.each { |from, bytes| collapse_area(from, bytes, IN_USE) } && nil
          end
          bytes = [(Memory.huge_bytes || 0) - before, 0].max
          Report.new(pages: bytes / SIZE, bytes: bytes, skipped: why).freeze
        end

        # Returns the ranges that may be collapsed, as [address, bytes]. Read as bytes, because a
        # path need not be text in this locale.
        def self.areas
          File.foreach("/proc/self/maps", mode: "rb").filter_map do |line|
            range, rights, _offset, _device, inode, name = line.split
            next unless rights.start_with?("rw") && rights.end_with?("p") && inode == "0"
            next unless name.nil? || name.start_with?("[heap]", "[anon")

            from, to = range.split("-").map { |address| Integer(address, 16) }
            [from, to - from] if to - from >= SIZE
          end
        end
        private_class_method :areas
      end
    end
  end
end
