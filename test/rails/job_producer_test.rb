# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "skep/rails/job_producer"

class RailsJobProducerTest < Skep::TestCase
  JobProducer = Skep::Rails.const_get(:JobProducer)
  private_constant :JobProducer

  test "the child that runs a job is known in all fibers of its thread, and in no other thread" do
    seen = JobProducer.with_child(:child) do
      enumerator = Enumerator.new { |yielder| yielder << JobProducer.child }
      [JobProducer.child, Fiber.new { JobProducer.child }.resume, enumerator.next,
       Thread.new { JobProducer.child }.value]
    end

    assert_equal [:child, :child, :child, nil], seen
    assert_nil JobProducer.child
  end

  test "a job that runs another job gets its own child back afterwards" do
    seen = JobProducer.with_child(:outer) do
      inner = JobProducer.with_child(:inner) { JobProducer.child }
      [inner, JobProducer.child]
    end

    assert_equal %i[inner outer], seen
  end
end
