# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "skep/rails/job_producer"

class RailsJobProducerTest < Skep::TestCase
  JobProducer = Skep::Rails.const_get(:JobProducer)
  private_constant :JobProducer

  test "the node that runs a job is known in all fibers of its thread, and in no other thread" do
    seen = JobProducer.with_node(:node) do
      enumerator = Enumerator.new { |yielder| yielder << JobProducer.node }
      [JobProducer.node, Fiber.new { JobProducer.node }.resume, enumerator.next,
       Thread.new { JobProducer.node }.value]
    end

    assert_equal [:node, :node, :node, nil], seen
    assert_nil JobProducer.node
  end

  test "a job that runs another job gets its own node back afterwards" do
    seen = JobProducer.with_node(:outer) do
      inner = JobProducer.with_node(:inner) { JobProducer.node }
      [inner, JobProducer.node]
    end

    assert_equal %i[inner outer], seen
  end
end
