# frozen_string_literal: true

require "skep/threads"

# skep's pool. The caller waits in Batch#settle, and runs jobs in Batch#work.
class Ours
  def initialize(threads, calls, help: true)
    @pool = Skep::Threads::Pool.new(threads)
    @help = help
    calls.within(:settle, but: :work)
  end

  def run(jobs) = @pool.run(jobs, help: @help, &:call)
end

# skep's pool with a caller that runs no job.
class OursUnhelped < Ours
  def initialize(threads, calls) = super(threads, calls, help: false)
end
