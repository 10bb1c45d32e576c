# frozen_string_literal: true

require "skep/os"

# What `fork` does to this process.
#
#   require "skep/fork"
#   Skep.pid                                     # this process, right after a fork too
#   Skep.generation                              # forks since the process that loaded skep
#   Skep.on_fork(child: -> { Database.connect }) # runs in each child, whoever forks
#   Skep.warmup                                  # makes the heap cheap to fork and to share
#   Skep::Fork::Guard.check                      # what wouldn't survive a fork right now
#
# Requiring it patches Process._fork and Process.daemon, nothing else of Ruby. What starts another
# program (spawn, system, backquotes) isn't a fork in this sense: no callback runs for it.
module Skep
  module Fork
  end
end

require "skep/fork/reporter"
require "skep/fork/registration"
require "skep/fork/hook_chain"
require "skep/fork/fork_hooks"
require "skep/fork/process_patch"
require "skep/fork/finding"
require "skep/fork/guard"
require "skep/fork/warmup"
require "skep/fork/warmup/report"
require "skep/fork/warmup/compaction_policy"

module Skep
  module Fork
    @callbacks = ForkHooks.new
    @heir = nil

    # This process' callbacks, those that Skep.on_fork adds to.
    #
    #: () -> ForkHooks
    def self.callbacks = @callbacks

    # This process was made by Process.daemon: its parent is no more.
    #
    #: () -> void
    def self.__succeed = @heir = OS::Generation.count

    # Is it so, and was that parent of this generation?
    #
    #: (Integer generation) -> bool
    def self.__heir?(generation) = @heir == generation + 1 && @heir == OS::Generation.count

    OS::Generation.listen { callbacks.notice }
    Process.singleton_class.prepend(ProcessPatch)
  end

  # Skep.pid and Skep.generation: see below.
  extend OS::Generation::PidMethods

  # Has blocks called around every fork of this process and of its descendants: `before` in the
  # forking thread, those registered last first; then `parent` or `child`, those registered first
  # first. One that raises is reported, and the rest run. See ForkHooks. Raises ArgumentError
  # for what can't be called, and for nothing at all. Source: pthread_atfork(3).
  #
  #: (?before: ^() -> void, ?parent: ^() -> void, ?child: ^() -> void) -> Fork::Registration
  def self.on_fork(before: nil, parent: nil, child: nil)
    generation # A fork that nobody saw is news for those registered before it alone.
    Fork.callbacks.register(before:, parent:, child:)
  end

  # Makes the heap cheap to fork and to share, once the application is loaded. See Fork::Warmup.
  # `reshare` needs skep/reshare, required before the application.
  #
  #: (?huge_pages: bool, ?reshare: bool) -> Fork::Warmup::Report
  def self.warmup(huge_pages: true, reshare: false) = Fork::Warmup.new(huge_pages:, reshare:).run

  # @!method self.pid
  #   The number of this process, at the price of an empty method in C.
  #   @return [Integer]
  # @!method self.generation
  #   How many forks lie between this process and the one that loaded skep, where it is 0. In a
  #   process that was forked behind Ruby's back the first to ask runs the children's callbacks,
  #   once however many such forks there were; not in a trap handler nor in a Ractor of its own,
  #   where they wait for the next who asks.
  #   @return [Integer]
end
