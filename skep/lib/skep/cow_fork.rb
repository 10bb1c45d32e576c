# frozen_string_literal: true

# Opt-in: prepares the heap before each fork if it has changed enough since the last time.
#
#   require "skep/cow_fork"
#   fork { … }                          # the first warms up, as Skep.warmup does
#   fork { … }                          # little has changed: forks at once
#   fork(cow_friendly: false) { … }     # never warms up; the same as nakayoshi: false
#
# It patches Kernel#fork, Kernel.fork and Process.fork. IO.popen("-") and Process.daemon stay as
# they are: the child of the first runs briefly, and the second leaves no parent to share with.
# See Skep::Fork::CowFork.
require "skep/fork"
require "skep/fork/cow_fork"
require "skep/fork/cow_fork/heap_stats"

if Process.respond_to?(:fork)
  Kernel.prepend(Skep::Fork::CowFork::Instance)
  [Kernel, Process].each { |owner| owner.singleton_class.prepend(Skep::Fork::CowFork::Singleton) }
  Skep::Fork::Warmup.prepend(Skep::Fork::CowFork::Note)
end
