# frozen_string_literal: true

require "test_helper"
require "skep/control"

class CommandHandlerTest < Skep::TestCase
  CommandHandler = Skep::Control::CommandHandler

  # A supervisor whose snapshot is what the test defines.
  class Failing
    attr_reader :events, :published

    def initialize(facts)
      @facts = facts
      @events = Skep::Swarm::Runtime::EventBus.new
      @published = []
      @events.subscribe { |event| @published << event }
    end

    def snapshot = @facts.call
  end
  private_constant :Failing

  test "an exception in the supervisor is published, and isn't reported as a wrong request" do
    supervisor = Failing.new(-> { nil.fetch("totals") })
    answers = ask(supervisor, '{"v":1,"command":"status"}')
    assert_equal [["the command failed in the supervisor (NoMethodError): see its log"]],
                 answers.map(&:values)
    event = supervisor.published.first
    facts = event.facts
    assert_equal [:supervisor_error, :error, "status"], [event.name, event.level, facts[:action]]
    assert_match(/\ANoMethodError: /, facts[:error])
    assert_match(/command_handler_test/, facts[:backtrace].first)
  end

  test "a request that isn't valid is answered with an error, and not published" do
    supervisor = Failing.new(-> { {} })
    ["", "3", "nil", "[]", "{", "\xFF", '"status"', "null"].each do |request|
      assert_match(/one line of JSON/, ask(supervisor, request).first[:error])
    end
    assert_match(/unknown command/, ask(supervisor, "{}").first[:error])
    assert_empty supervisor.published
  end

  private

  def ask(supervisor, request)
    answers = []
    CommandHandler.handle(supervisor, request, follow: nil) { |answer| answers << answer }
    answers
  end
end
