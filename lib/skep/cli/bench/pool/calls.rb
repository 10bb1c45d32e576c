# frozen_string_literal: true

# Counts the methods that this thread calls while it waits, Ruby's own and others.
#
#   calls = Calls.new
#   calls.count { Thread.pass until done }     # where the wait is in our hands
#   calls.within(:settle, but: :work)          # in that method, except while it is in the other
#   calls.during { pool.run(jobs) }            # => 12
#
# Only `during` counts; what is measured otherwise runs untraced. A traced loop turns slower, so of
# one that looks again and again this is less than it really does.
class Calls
  def initialize
    @caller = Thread.current
    @waiting = false
  end

  #: () { () -> void } -> void
  def count
    @waiting = true
    yield
  ensure
    @waiting = false
  end

  #: (Symbol inside, but: Symbol) -> void
  def within(inside, but:)
    @inside, @outside = inside, but
  end

  #: () { () -> void } -> Integer
  def during(&block)
    @calls = 0
    TracePoint.new(:call, :c_call, :return) { |event| note(event) }.enable(&block)
    @calls
  end

  private

  def note(event)
    return unless Thread.current.equal?(@caller)

    call = event.event != :return
    @waiting = call if event.method_id == @inside
    @waiting = !call if event.method_id == @outside
    @calls += 1 if @waiting && call && event.method_id != @inside
  end
end
