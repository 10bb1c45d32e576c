# frozen_string_literal: true

# Asked for by name: each fork is preceded by what makes the heap worth sharing, when it has changed
# enough for that to pay.
#
#   require "skep/cow_fork"
#   fork { … }                          # the first warms up, as Skep.warmup does
#   fork { … }                          # little has changed: forks at once
#   fork(cow_friendly: false) { … }     # never warms up; nakayoshi: false says the same
#
# It patches Kernel#fork, Kernel.fork and Process.fork. IO.popen("-") and Process.daemon are left as
# they are: the one is for a child that runs a moment, of the other no parent is left to share with.
# See Skep::Fork::CowFork.
require "skep/fork"
require "skep/fork/cow_fork"
require "skep/fork/cow_fork/heap_stats"

if Process.respond_to?(:fork)
  Kernel.prepend(Skep::Fork::CowFork::Instance)
  [Kernel, Process].each { |owner| owner.singleton_class.prepend(Skep::Fork::CowFork::Singleton) }
  Skep::Fork::Warmup.prepend(Skep::Fork::CowFork::Note)
end
