# frozen_string_literal: true

# A lock on a whole file that this process holds until it ends or closes the file; forked children
# don't hold it. Source: fcntl(2), F_SETLK.
#
#   FileLock.take(file)      # => true; false if another process holds it
#   FileLock.holder(file)    # => the holder's pid, or nil
#
# The same process can take it twice. It loses the lock if it closes any descriptor of the file.
module Skep
  module OS
    module FileLock
      # Uses flock(2), which forked children share: the lock is held until the last of them has
      # closed the file. It can't determine the holder.
      module Fallback
        def take(file) = file.flock(File::LOCK_EX | File::LOCK_NB) == 0

        def holder(_file) = nil
      end
      private_constant :Fallback

      extend Fallback
    end
  end
end
