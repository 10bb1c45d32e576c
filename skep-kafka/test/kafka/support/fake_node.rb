# frozen_string_literal: true

require "support/fakes"

# The node of a source, without a swarm: reports each call, and stops on request.
#
#   node = FakeNode.new(id: 0) { |name, facts| … }   # events; "ready", "assigned" too
#   node.stop!                                        # from any thread, or from a trap
class FakeNode
  # The node of one worker thread.
  class ThreadNode < SimpleDelegator
    def initialize(node, thread)
      super(node)
      @thread = thread
    end

    def in_flight(text) = __getobj__.in_flight(text, thread: @thread)
    def producer = @producer || super
    def __lend(producer) = @producer = producer
  end

  attr_writer :time_left # once it stops
  attr_writer :boot_time_left # until it is ready
  attr_reader :id, :swarm, :mold, :crash_suspects, :last_item

  # suspects: as a supervisor reports them.
  def initialize(id: 0, swarm: "test", suspects: [], &on_event)
    @id = id
    receiver = ->(*event) { @on_event.call(*event) }
    @crash_suspects = Skep::Swarm::Processes::KnownSuspects.new(suspects, report: receiver)
    @swarm = swarm
    @mold = 0
    @on_event = on_event || proc {}
    @wake, @waker = IO.pipe
  end

  def revision = "4f0c1e2"
  def ready! = report("ready")
  def __boot_time_left = @boot_time_left
  def __progress_pages = nil
  def __first_of_its_work? = id.zero?
  def wait_for_predecessor = !stopping?
  def thread(thread) = thread.zero? ? self : ThreadNode.new(self, thread)
  def assigned!(assigned = true, **facts) = report("assigned", assigned:, **facts)
  def beat = nil
  def current_item(number) = @last_item = number
  def busy(for:) = yield # rubocop:disable Lint/UnusedMethodArgument -- as the real one
  def event(name, level: :info, **facts) = report(name.to_s, level:, **facts)
  def in_flight(text, thread: 0) = report("in_flight", text:, thread:)
  def processed(number = 1, thread: 0) = report("processed", number:, thread:)

  def __report_work(facts, list:)
    Skep::Swarm::IPC::WorkFacts.cut(facts, list)
    report("work", **facts)
    true
  end

  def __handler_records = nil
  def __replace_process(why, event:, **facts) = report("replace", why:, event:, **facts)
  def time_left = (@time_left || 30.0 if stopping?)
  def producer = @producer || raise(Skep::Swarm::NoProducer)
  def __lend(producer) = @producer = producer

  def stopping? = @stopping ? true : false
  def on_stop(&block) = (@hooks ||= []) << block
  def scaling_down? = false
  def __all_stop? = false
  def __others_to_await? = false
  def __failed(_error, **context) = report("on_error", **context)
  def quiet? = @quiet || stopping?

  def wait_for(ios, timeout = nil)
    return [] if stopping?

    readable, = IO.select([@wake, *ios], nil, nil, timeout)
    return [] unless readable
    return readable unless readable.include?(@wake)

    @wake.read_nonblock(64, exception: false) unless stopping?
    []
  end

  def stop! = wake { (@stopping = true) && @hooks&.each(&:call) }
  def quiet! = wake { @quiet = true }
  def resume! = wake { @quiet = false }
  def close = [@wake, @waker].each(&:close)

  private

  def wake
    yield
    @waker.write_nonblock("w", exception: false)
  end

  def report(name, **facts) = @on_event.call(name, facts)
end
Fakes.stands_for FakeNode, "Skep::Swarm::Node",
                 controls: %i[last_item time_left= boot_time_left= stop! quiet! resume! close]
