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

  test "a field that the command doesn't have is refused, as a newer client may have meant it" do
    supervisor = Failing.new(-> { {} })
    { '{"v":1,"command":"restart","pool":"web"}' =>
        'unknown field "pool" of restart: there are node, work, wait',
      '{"command":"status","now":true}' => 'unknown field "now" of status: it takes none' }
      .each { |request, error| assert_equal [{ error: }], ask(supervisor, request) }
    commands = ask(supervisor, '{"command":"commands"}').first[:commands]
    assert_equal %w[node work wait], commands["restart"]
  end

  # A supervisor that can be quiet, with slots to scale. Its loop runs at once what is for later.
  class Running
    Slots = Struct.new(:slots)
    Slot = Struct.new(:work_name)
    private_constant :Slots, :Slot

    attr_reader :node_pool

    def initialize(quiet:)
      @quiet = quiet
      @node_pool = Slots.new([Slot.new("orders"), Slot.new("web")])
    end

    def loop = self
    def events = @events ||= Skep::Swarm::Runtime::EventBus.new
    def after(_seconds) = yield
    def changes = self
    def quiet? = @quiet
    def end_quiet = @quiet.tap { @quiet = false }
    def restart(node, work: nil) = yield(node == :all && work != "none" ? nil : "no")
    def reload = yield("no code")

    def scale(count, works: nil)
      count ||= works.each_value.sum
      return "no" unless count.positive?

      @node_pool.slots = Array.new(count) { Slot.new("orders") }
      nil
    end
  end
  private_constant :Running

  test "the answer to a restart says that the swarm stays quiet, to a resume that it was quiet" do
    supervisor = Running.new(quiet: true)
    assert_equal [{ done: "restart", quiet: true }], ask(supervisor, '{"command":"restart"}')
    assert_equal [{ error: "no code" }], ask(supervisor, '{"command":"reload"}')
    assert_equal [{ done: "restart", quiet: true }],
                 ask(supervisor, '{"command":"restart","wait":false}').last(1)
    assert_equal [{ done: "resume", was_quiet: true }], ask(supervisor, '{"command":"resume"}')
    assert_equal [{ done: "resume", was_quiet: false }], ask(supervisor, '{"command":"resume"}')
    assert_equal [{ done: "restart" }], ask(supervisor, '{"command":"restart"}')
  end

  test "the answer to a scale says from how many nodes to how many" do
    supervisor = Running.new(quiet: false)
    assert_equal [{ done: "scale", from: 2, to: 5 }],
                 ask(supervisor, '{"command":"scale","nodes":5}')
    assert_equal [{ error: "no" }], ask(supervisor, '{"command":"scale","nodes":0}')
  end

  test "the answer to a scale by names has the numbers of each work" do
    supervisor = Running.new(quiet: false)
    works = { "orders" => [1, 3], "web" => [1, 2] }
    assert_equal [{ done: "scale", from: 2, to: 5, works: }],
                 ask(supervisor, '{"command":"scale","works":{"orders":3,"web":2}}')
    assert_equal [{ done: "scale", from: 5, to: 3, works: { "orders" => [5, 3] } }],
                 ask(supervisor, '{"command":"scale","work":"orders","nodes":3}')
  end

  test "a restart may be of one work" do
    supervisor = Running.new(quiet: false)
    assert_equal [{ done: "restart" }], ask(supervisor, '{"command":"restart","work":"web"}')
    assert_equal [{ error: "no" }], ask(supervisor, '{"command":"restart","work":"none"}')
  end

  private

  def ask(supervisor, request)
    answers = []
    CommandHandler.handle(supervisor, request, follow: nil) { |answer| answers << answer }
    answers
  end
end
