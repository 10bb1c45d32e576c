# frozen_string_literal: true

module Skep
  module OS
    module FileLock
      # The same by flock(2), which forks share: it is held until the last of them has closed the
      # file. It can't tell who holds it.
      module Twin
        #: (File) -> bool
        def take(file) = file.flock(File::LOCK_EX | File::LOCK_NB) == 0

        #: (File) -> Integer?
        def holder(_file) = nil
      end
      private_constant :Twin
    end
  end
end
