# frozen_string_literal: true

# Would the kernel give us one more process?
#
#   Skep::OS::ForkProbe.check   # true, or raises Errno::EAGAIN: pids cgroup or RLIMIT_NPROC
#
# Ask right before a fork that must not wait: Ruby's own fork and spawn take EAGAIN for something
# that passes, and try again each second for ever, with nothing told (handle_fork_error in Ruby's
# process.c). The answer may be outdated a microsecond later; then Ruby does just that.
# It takes some 60 us and leaves nothing.
module Skep
  module OS
    module ForkProbe
      # What the C does better: the fallback can't ask without a fork of Ruby's, and says yes.
      module Fallback
        #: () -> bool
        def check = true
      end
      private_constant :Fallback
      extend Fallback
    end
  end
end
