# frozen_string_literal: true

# Is an IO ready in this very moment? A signal just before makes Ruby's own wait of no time say no
# without a look (rb_thread_wait_for_single_fd in Ruby's thread.c); these look.
#
#   Skep::OS::ReadyNow.writable?(io)                                   # poll(2)
#   Skep::OS::ReadyNow.again { |seconds| io.wait_readable(seconds) }   # what it finds, or nil
module Skep
  module OS
    module ReadyNow
      # The longest one is for certain: Ruby looks again and again as long as it may wait.
      SECONDS = [0, 0, 0.002].freeze
      private_constant :SECONDS

      # What the C does better: a storm of signals may keep the fallback from its look.
      module Fallback
        #: (IO) -> bool
        def writable?(io) = !ReadyNow.again { |seconds| io.wait_writable(seconds) }.nil?
      end
      private_constant :Fallback
      extend Fallback

      # For what takes Ruby's own wait: the block waits for so many seconds, at most.
      #
      #: [T] () { (Numeric seconds) -> T? } -> T?
      def self.again
        SECONDS.each { |seconds| (found = yield(seconds)) and return found }
        nil
      end
    end
  end
end
