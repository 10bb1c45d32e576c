# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "skep/rails/courier"

class RailsCourierTest < Skep::TestCase
  Courier = Skep::Rails.const_get(:Courier)
  private_constant :Courier

  test "who does a job is known in all fibers of its thread, and in no other thread" do
    seen = Courier.with(:child) do
      enumerator = Enumerator.new { |yielder| yielder << Courier.child }
      [Courier.child, Fiber.new { Courier.child }.resume, enumerator.next,
       Thread.new { Courier.child }.value]
    end

    assert_equal [:child, :child, :child, nil], seen
    assert_nil Courier.child
  end

  test "a job within a job has its own, until that is through" do
    seen = Courier.with(:outer) do
      inner = Courier.with(:inner) { Courier.child }
      [inner, Courier.child]
    end

    assert_equal %i[inner outer], seen
  end
end
