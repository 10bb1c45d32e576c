# frozen_string_literal: true

# Asks the kernel whether a fork would succeed now.
#
#   Skep::OS::ProcessTree::ForkProbe.check   # => true
#
# Raises Errno::EAGAIN if the pids cgroup or RLIMIT_NPROC is exhausted. Call it right before a fork
# that must not block: Ruby's own fork and spawn take EAGAIN for a passing condition and retry each
# second, for ever and without a word (handle_fork_error in Ruby's process.c). The answer may be out
# of date a microsecond later; then Ruby blocks all the same. It takes 60 us.
module Skep
  module OS
    module ProcessTree
      module ForkProbe
        # Ruby has no way to ask without forking: the fallback always returns true.
        module Fallback
          def check = true
        end
        private_constant :Fallback
        extend Fallback
      end
    end
  end
end
