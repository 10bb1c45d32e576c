# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class SupervisorQueryTest < Skep::TestCase
  test "gets the answer to its own question" do
    line = line_that { |number| [answer(number - 1, "old"), answer(number, "new")] }
    assert_equal({ "name" => "new" }, line.ask(5.0))
  end

  test "takes no answer for none, in time" do
    assert_nil line_that { [] }.ask(0.01)
    late = line_that { |number| [answer(number - 1, "late")] }
    assert_nil late.ask(0.01)
  end

  test "asks one question at a time, whoever asks" do
    asked = 0
    line = line_that { |number| [answer(number, (asked += 1).to_s)] }
    names = Array.new(8) { Thread.new { line.ask(5.0)["name"] } }.map(&:value)
    assert_equal (1..8).map(&:to_s), names.sort
  end

  private

  def answer(number, name)
    facts = { "number" => number, "status" => { "name" => name } }
    Skep::Swarm::IPC::Channel::Message.new("answer", facts)
  end

  # The block tells what comes back for a question's number.
  def line_that
    line = nil
    line = Skep::Swarm::Processes::SupervisorQuery.new(lambda { |type, facts|
      assert_equal "ask", type
      yield(facts["number"]).each { |frame| line.receive(frame) }
    })
  end
end
