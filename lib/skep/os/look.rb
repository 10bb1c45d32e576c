# frozen_string_literal: true

# Is an IO ready in this very moment? A signal just before makes Ruby's own wait of no time say no
# without a look (rb_thread_wait_for_single_fd in Ruby's thread.c); this one looks.
#
#   Skep::OS::Look.writable?(io)     # poll(2)
module Skep
  module OS
    module Look
      # What the C does better: a storm of signals may keep the twin from its look.
      module Twin
        #: (IO) -> bool
        def writable?(io) = !OS.look { |seconds| io.wait_writable(seconds) }.nil?
      end
      private_constant :Twin
      extend Twin
    end
  end
end
