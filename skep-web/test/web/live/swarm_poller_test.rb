# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "support/nodeless_supervisor"
require "skep/web"

# What pages are sent of a swarm, and how often its status is asked for, with the control socket of
# a supervisor without nodes. Time passes during answers, and by `pass`, only.
class WebSwarmPollerTest < Skep::TestCase
  def setup
    @directory = Dir.mktmpdir
    @path = File.join(@directory, "a.sock")
    @loop = Skep::OS::EventLoop.new
    @now, @asked, @sent = Skep::OS.now, 0, []
    config = Skep::Swarm::Definition::Config.new("a", { control: @path }, tasks: [{}])
    @server = Skep::Control::Server.new
    @server.configured(NodelessSupervisor.new(@loop, config, -> { answer }))
    @poller = Skep::Web::Live::SwarmPoller.new("a", @path, 2.0) { |facts| @sent << facts }
  end

  def teardown
    @poller.stop
    @server.on_close
    @loop.close
    FileUtils.remove_entry(@directory)
  end

  test "a supervisor whose answer took half a second isn't asked again for ten, whatever happens" do
    polling do
      2.times do |number|
        @server.event("many", :info, {})
        pass(0) { sent(:event).size == number + 1 }
        pass(4.9)
      end
      assert_equal 1, @asked
      pass(0.3) { @asked == 2 }
    end
  end

  test "the end of a supervisor is seen at once, however long its last answer took" do
    polling do
      @server.on_close
      pass(0)
      pass(0.4) { sent(:changes).any? { |changes| changes["away"] } }
    end
  end

  test "the first status is a whole state, and the next one its changes" do
    polling do
      assert_equal [1, 0], [sent(:is).size, sent(:changes).size]
      pass(10.1) { sent(:changes).any? }
      assert_equal 1, sent(:is).size
    end
  end

  test "what has happened before comes without the view, which hasn't changed" do
    @server.event("before", :info, {})
    polling do
      past = @sent.find { |facts| facts[:events].to_a.any? && !facts.key?(:is) }
      assert_equal([["before"], true], [past[:events].map { |one| one["event"] },
                                        past.key?(:series)])
    end
  end

  private

  def answer
    @asked += 1
    @now += 0.5
  end

  # From the first status on.
  def polling
    Skep::OS.stub(:now, -> { @now }) do
      @poller.start(@loop)
      pass(0) { sent(:is).any? }
      yield
    end
  end

  def sent(kind) = @sent.filter_map { |facts| facts[kind] }

  def pass(seconds)
    @now += seconds
    by = deadline(30)
    5.times { @loop.turn(0) }
    @loop.turn(0.1) until !block_given? || yield || seconds_until(by).zero?
    assert yield if block_given?
  end
end
