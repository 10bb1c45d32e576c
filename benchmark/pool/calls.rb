# frozen_string_literal: true

# Counts the method calls of this thread while it waits, including Ruby's own.
#
#   calls = Calls.new
#   calls.count { Thread.pass until done }     # if the benchmark itself waits
#   calls.within(:settle, but: :work)          # in one method, except within the other
#   calls.during { pool.run(jobs) }            # => 12
#
# Only `during` counts; other measurements run without the trace. A traced loop is slower, so the
# count of a polling loop is lower than without the trace.
class Calls
  def initialize
    @caller = Thread.current
    @waiting = false
  end

  def count
    @waiting = true
    yield
  ensure
    @waiting = false
  end

  def within(inside, but:)
    @inside, @outside = inside, but
  end

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
