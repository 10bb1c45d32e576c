# frozen_string_literal: true

require "skep/threads"

# skep's pool. Its caller waits in Batch#settle, and does jobs in Batch#work.
class Ours
  #: (Integer threads, Calls calls, ?help: bool) -> void
  def initialize(threads, calls, help: true)
    @pool = Skep::Threads::Pool.new(threads)
    @help = help
    calls.within(:settle, but: :work)
  end

  #: (Array[Proc] jobs) -> void
  def run(jobs) = @pool.run(jobs, help: @help, &:call)
end

# skep's, whose caller does no job.
class OursUnhelped < Ours
  def initialize(threads, calls) = super(threads, calls, help: false)
end
