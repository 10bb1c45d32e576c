# frozen_string_literal: true

require "fcntl"

# A lock on a whole file that this process holds until it ends or closes the file; forked children
# don't hold it. Source: fcntl(2), F_SETLK.
#
#   FileLock.take(file)      # => true; false if another process holds it
#   FileLock.holder(file)    # => the holder's pid, or nil
#
# The same process can take it twice. It loses the lock if it closes any descriptor of the file.
#
# Elsewhere than on 64-bit Linux, where the layout of `struct flock` is another one, it uses
# flock(2). Forked children share that lock, until the last of them has closed the file, and the
# holder is unknown.
module Skep
  module OS
    module FileLock
      # type, whence, start, length (0: to the end), pid
      FLOCK = "s!s!x4q!q!i!x4"
      private_constant :FLOCK

      class << self
        def supported? = RUBY_PLATFORM.include?("linux") && [0].pack("l!").bytesize == 8

        def take(file)
          return file.flock(File::LOCK_EX | File::LOCK_NB) == 0 unless supported?

          file.fcntl(Fcntl::F_SETLK, whole_file)
          true
        rescue Errno::EACCES, Errno::EAGAIN # another process holds it
          false
        end

        def holder(file)
          return unless supported?

          found = whole_file
          file.fcntl(Fcntl::F_GETLK, found)
          type, *, pid = found.unpack(FLOCK)
          # 0 is a holder in a PID namespace that isn't visible here.
          pid unless type == Fcntl::F_UNLCK || pid.zero?
        end

        private

        def whole_file = [Fcntl::F_WRLCK, IO::SEEK_SET, 0, 0, 0].pack(FLOCK)
      end
    end
  end
end
