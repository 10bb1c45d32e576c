# frozen_string_literal: true

# Records which of skep's locks a thread takes while it holds another one. For a process of its own,
# before skep makes the locks.
#
#   LockRecorder.install
#   …
#   LockRecorder.pairs   # => [["scheduler@lock", "partition_reader@reading"]]: the first was held
#
# A lock has the name of its file in lib/skep/kafka and of its variable. The lock of a node's
# workers (Threads::SharedExclusiveLock), which a thread holds for a whole attempt, is "attempt".
module LockRecorder
  ATTEMPT = "attempt"
  FOLDER = "/lib/skep/kafka"

  @names = {}.compare_by_identity
  @pairs = {}

  class << self
    def pairs = @pairs.keys

    # Names the lock by the line that makes it.
    def made(mutex, line)
      return unless line.path.include?(FOLDER)

      variable = File.readlines(line.path)[line.lineno - 1][/@\w+/]
      @names[mutex] = File.basename(line.path, ".rb") + variable
    end

    def taken(lock)
      name = lock == ATTEMPT ? lock : @names[lock] or return
      held.each { |other| @pairs[[other, name]] = true }
      held << name
    end

    def released(lock)
      name = lock == ATTEMPT ? lock : @names[lock] or return
      place = held.rindex(name)
      held.delete_at(place) if place
    end

    def install
      Thread::Mutex.singleton_class.prepend(Making)
      Thread::Mutex.prepend(Taking)
      Skep::Threads::SharedExclusiveLock.prepend(Attempting)
    end

    private

    def held
      Thread.current.thread_variable_get(:locks_held) ||
        [].tap { |none| Thread.current.thread_variable_set(:locks_held, none) }
    end
  end

  module Making
    def new
      line = caller_locations(1, 1).first
      super.tap { |mutex| LockRecorder.made(mutex, line) }
    end
  end

  module Taking
    def lock = super.tap { LockRecorder.taken(self) }
    def try_lock = super.tap { |got| LockRecorder.taken(self) if got }
    def unlock = super.tap { LockRecorder.released(self) }

    def synchronize
      super do
        LockRecorder.taken(self)
        yield
      ensure
        LockRecorder.released(self)
      end
    end
  end

  module Attempting
    def synchronize(**)
      super do
        LockRecorder.taken(ATTEMPT)
        yield
      ensure
        LockRecorder.released(ATTEMPT)
      end
    end
  end
  private_constant :Making, :Taking, :Attempting
end
