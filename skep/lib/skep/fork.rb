# frozen_string_literal: true

require "skep/os"

# Forks of this process: callbacks, pid and generation, preparation of the heap, and what is unsafe
# to carry into a child.
#
#   require "skep/fork"
#   Skep.pid                                     # this process, also right after a fork
#   Skep.generation                              # forks since the process that loaded skep
#   Skep.on_fork(child: -> { Database.connect }) # runs in each child
#   Skep.warmup                                  # makes the heap cheap to fork and to share
#   Skep::Fork::Guard.check                      # what would not survive a fork now
#
# ForkHooks runs the callbacks; ProcessPatch calls it around each fork.
# Warmup prepares the heap, with skep/cow_fork before each fork that needs it (CowFork). Guard
# returns Findings.
#
# Requiring it patches Process._fork and Process.daemon, nothing else of Ruby's. No callback runs
# for spawn, system and backquotes, which execute another program.
module Skep
  module Fork
  end
end

require "skep/fork/reporter"
require "skep/fork/registration"
require "skep/fork/fork_hooks"
require "skep/fork/process_patch"
require "skep/fork/finding"
require "skep/fork/guard"
require "skep/fork/reshare_hook"
require "skep/fork/warmup"
require "skep/fork/warmup/report"

module Skep
  module Fork
    @callbacks = ForkHooks.new
    @daemon_generation = nil

    # Returns the hooks that Skep.on_fork adds to.
    def self.callbacks = @callbacks

    # Records that Process.daemon made this process, and that its parent has exited.
    def self.__note_daemon = @daemon_generation = OS::Generation.count

    # Returns true if Process.daemon made this process, from a parent of that generation.
    def self.__daemon_child?(generation)
      @daemon_generation == generation + 1 && @daemon_generation == OS::Generation.count
    end

    OS::Generation.listen { callbacks.notice }
    Process.singleton_class.prepend(ProcessPatch)
  end

  # Skep.pid and Skep.generation, documented below.
  extend OS::Generation::PidMethods

  # Registers callbacks around each fork of this process and of its descendants: `before` runs in
  # the forking thread, the last registered first; then `parent` or `child`, the first registered
  # first. One that raises is reported, and the others run. See ForkHooks. Raises ArgumentError
  # without a callback, and for objects without `call`. Source: pthread_atfork(3).
  def self.on_fork(before: nil, parent: nil, child: nil)
    generation # An undetected fork before now concerns only those registered earlier.
    Fork.callbacks.register(before:, parent:, child:)
  end

  # Makes the heap cheap to fork and to share. Call it once, when the application is loaded. See
  # Fork::Warmup. `reshare` needs a gem, loaded before the application: see Fork::ReshareHook.
  def self.warmup(huge_pages: true, reshare: false) = Fork::Warmup.new(huge_pages:, reshare:).run

  # @!method self.pid
  #   Returns the pid of this process. A call costs as much as an empty method in C.
  #   @return [Integer]
  # @!method self.generation
  #   Returns the number of forks between this process and the one that loaded skep; 0 in that one.
  #   After a fork that Ruby didn't make, the first call runs the `child` callbacks, once for
  #   several such forks. A call in a trap handler, or in a Ractor other than the main one, doesn't
  #   run them: the next call elsewhere does.
  #   @return [Integer]
end
