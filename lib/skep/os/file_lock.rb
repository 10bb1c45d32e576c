# frozen_string_literal: true

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
      # The same by flock(2), which forks share: it is held until the last of them has closed the
      # file. It can't tell who holds it.
      module Fallback
        #: (File) -> bool
        def take(file) = file.flock(File::LOCK_EX | File::LOCK_NB) == 0

        #: (File) -> Integer?
        def holder(_file) = nil
      end
      private_constant :Fallback

      extend Fallback
    end
  end
end
