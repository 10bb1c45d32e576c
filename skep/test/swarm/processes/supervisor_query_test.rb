# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class SupervisorQueryTest < Skep::TestCase
  test "returns the answer to its own question" do
    query = query_that { |number| [answer(number - 1, "old"), answer(number, "new")] }
    assert_equal({ "name" => "new" }, query.ask(5.0))
  end

  test "returns nil if no answer arrives in time, or only that to an earlier question" do
    assert_nil query_that { [] }.ask(0.01)
    late = query_that { |number| [answer(number - 1, "late")] }
    assert_nil late.ask(0.01)
  end

  test "asks one question at a time for all threads" do
    answers = 0
    query = query_that { |number| [answer(number, (answers += 1).to_s)] }
    names = Array.new(8) { Thread.new { query.ask(5.0)["name"] } }.map(&:value)
    assert_equal (1..8).map(&:to_s), names.sort
  end

  private

  def answer(number, name)
    facts = { "number" => number, "status" => { "name" => name } }
    Skep::Swarm::IPC::Channel::Message.new("answer", facts)
  end

  # The block returns the messages that answer the question with this number.
  def query_that
    query = nil
    query = Skep::Swarm::Processes::SupervisorQuery.new(lambda { |type, facts|
      assert_equal "ask", type
      yield(facts["number"]).each { |frame| query.receive(frame) }
    })
  end
end
