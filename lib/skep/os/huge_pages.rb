# frozen_string_literal: true

# Moves this process' heap into huge pages, so that fork has 512 times fewer entries to copy.
#
#   report = Skep::OS::HugePages.collapse
#   report.pages     # huge pages gained
#   report.bytes     # in bytes
#   report.skipped   # nil, or why nothing could be done, in a few words
#
# Once, before the first fork: it takes milliseconds a megabyte. Only anonymous private writable
# memory is taken, and of it only what is mostly in use already, so that the process hardly grows.
# It keeps nothing huge: later writes of a forked child copy 4 KiB as ever.
# Source: madvise(2), MADV_COLLAPSE (Linux 6.1).
module Skep
  module OS
    module HugePages
      Report = Struct.new(:pages, :bytes, :skipped, keyword_init: true)

      SIZE = 2 << 20

      # Of a huge page's room, this share must be resident before it is collapsed.
      IN_USE = 0.75

      # Huge pages can be had through system calls only: the fallback says so and does nothing.
      module Fallback
        private

        #: () { () -> String? } -> String?
        def allowed = yield

        #: () -> String?
        def unsupported = "huge pages need skep's C extension and Linux 6.1"
      end
      private_constant :Fallback

      extend Fallback

      #: () -> bool
      def self.supported? = allowed { unsupported }.nil?

      #: () -> Report
      def self.collapse
        before = Memory.huge_bytes || 0
        why = allowed do
          unsupported || areas.each { |from, bytes| collapse_area(from, bytes, IN_USE) } && nil
        end
        bytes = [(Memory.huge_bytes || 0) - before, 0].max
        Report.new(pages: bytes / SIZE, bytes: bytes, skipped: why).freeze
      end

      # Where the memory lies that may be collapsed: [address, bytes].
      # Read as bytes: a path need not be text in this locale.
      #
      #: () -> Array[[Integer, Integer]]
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
