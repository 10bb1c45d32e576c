# frozen_string_literal: true

# What a source sees of its node, without a swarm: passes on what it is told, and stops when told
# to.
#
#   child = FakeChild.new(id: 0) { |name, facts| … }   # each event; "ready", "joined", "count" too
#   child.stop!                                        # from any thread, or from a trap
class FakeChild
  # What one of its threads sees.
  class Lane < SimpleDelegator
    def initialize(child, thread)
      super(child)
      @thread = thread
    end

    def in_hand(text) = __getobj__.in_hand(text, thread: @thread)
    def producer = @producer || super
    def __lend(producer) = @producer = producer
  end

  attr_writer :time_left # from its stop on
  attr_reader :id, :swarm, :mold, :caution, :given_out

  # suspects: as a supervisor would tell them.
  def initialize(id: 0, swarm: "test", suspects: [], &told)
    @id = id
    report = ->(*said) { @told.call(*said) }
    @caution = Skep::Swarm::Processes::KnownSuspects.new(suspects, report:)
    @swarm = swarm
    @mold = 0
    @told = told || proc {}
    @wake, @waker = IO.pipe
  end

  def ready! = tell("ready")
  def take_place = !stopping?
  def lane(thread) = thread.zero? ? self : Lane.new(self, thread)
  def joined!(joined = true, **facts) = tell("joined", joined:, **facts)
  def beat = nil
  def at(number) = @given_out = number
  def busy(**) = yield
  def event(name, level: :info, **facts) = tell(name.to_s, level:, **facts)
  def in_hand(text, thread: 0) = tell("in_hand", text:, thread:)
  def count(number = 1, thread: 0) = tell("count", number:, thread:)

  def work=(facts)
    tell("work", **facts)
  end

  def time_left = (@time_left || 30.0 if stopping?)
  def producer = @producer || raise(Skep::Swarm::NoProducer)
  def __lend(producer) = @producer = producer

  def stopping? = @stopping ? true : false
  def on_stop(&block) = (@hooks ||= []) << block
  def for_good? = false
  def __all_stop? = false
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
  def close = [@wake, @waker].each(&:close)

  private

  def wake
    yield
    @waker.write_nonblock("w", exception: false)
  end

  def tell(name, **facts) = @told.call(name, facts)
end
