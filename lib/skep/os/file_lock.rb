# frozen_string_literal: true

require "skep/os/file_lock/twin"

# A lock on a whole file, held by this process until it ends or closes the file, however often it
# has forked meanwhile. Source: fcntl(2), F_SETLK.
#
#   FileLock.take(file)      # => true; false when another process has it
#   FileLock.holder(file)    # => its pid, or nil
#
# It doesn't keep this very process from taking it twice, and is lost when this process closes the
# file in any other place.
module Skep
  module OS
    module FileLock
      extend Twin
    end
  end
end
