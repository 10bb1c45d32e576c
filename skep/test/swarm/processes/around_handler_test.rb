# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class AroundHandlerTest < Skep::TestCase
  AroundHandler = Skep::Swarm::Processes::AroundHandler
  private_constant :AroundHandler

  test "returns the handler itself without blocks and subscribers" do
    handler = ->(*) {}

    assert_same handler, AroundHandler.wrap(handler, [])
  end

  test "blocks nest in their order, and get the batch and the node" do
    calls = []
    blocks = %w[first second].map do |name|
      lambda do |batch, node, handler|
        calls << "#{name} #{batch} #{node}"
        handler.call
        calls << "#{name} after"
      end
    end
    AroundHandler.wrap(->(batch, node) { calls << "handler #{batch} #{node}" }, blocks).call(:b, :n)

    assert_equal ["first b n", "second b n", "handler b n", "second after", "first after"], calls
  end

  test "a call without a batch and a node reaches the handler without the blocks" do
    block = ->(*) { flunk }
    handler = AroundHandler.wrap(->(config) { "configured #{config}" }, [block])

    assert_equal "configured sidekiq", handler.call("sidekiq")
    assert_equal "configured sidekiq", ["sidekiq"].map(&handler).first
  end

  test "a subscriber of handler.skep gets the batch's place, and the exception" do
    begin
      require "active_support" # its parts need it since 8.1
      require "active_support/notifications"
    rescue LoadError
      missing("the gem activesupport")
    end
    payloads = []
    subscriber = ActiveSupport::Notifications.subscribe("handler.skep") do |event|
      payloads << event.payload
    end
    node = Struct.new(:swarm, :id).new("billing", 3)
    batch = Struct.new(:place, :size).new({ topic: "orders", partition: 1, offset: 7 }, 2)
    handler = AroundHandler.wrap(->(*) { raise KeyError, "no price" }, [])
    assert_raises(KeyError) { handler.call(batch, node) }

    assert_equal({ swarm: "billing", node: 3, topic: "orders", partition: 1, offset: 7, size: 2 },
                 payloads.first.slice(:swarm, :node, :topic, :partition, :offset, :size))
    assert_equal ["KeyError", "no price"], payloads.first[:exception]
  ensure
    ActiveSupport::Notifications.unsubscribe(subscriber) if subscriber
  end

  test "an exception of the handler passes through the blocks, which may replace it" do
    seen = nil
    block = lambda do |_, _, handler|
      handler.call
    rescue RuntimeError => e
      seen = e.message
      raise IOError, "replaced"
    end
    error = assert_raises(IOError) { AroundHandler.wrap(->(*) { raise "bad" }, [block]).call(1, 2) }

    assert_equal %w[bad replaced], [seen, error.message]
  end

  test "a block that doesn't call the handler fails the batch, and is named" do
    handler = AroundHandler.wrap(->(*) { flunk }, [->(*) { :forgotten }])
    error = assert_raises(Skep::Swarm::HandlerNotCalled) { handler.call(1, 2) }

    assert_match(/around_handler_test\.rb:\d+ returned without handler\.call/, error.message)
  end
end
