# frozen_string_literal: true

require "kafka/support/kafka_case"

# What a source checks before its node is ready.
class KafkaStartupCheckTest < KafkaCase
  test "names the unreachable broker, the cause and the remedy within connect_timeout" do
    events, error = fail_to_boot(Skep::Kafka::BrokerUnreachable, connect_timeout: 0.5)

    assert_kind_of Skep::BootError, error
    assert_equal 75, error.exit_code
    assert_match(/\ANo broker of 127\.0\.0\.1:\d+ answered within 0\.5 s \(.*Connection refused/,
                 error.message)
    assert_match(/\. Start the broker, or correct bootstrap.servers/, error.message)
    assert_equal ["kafka_unreachable"], events.map(&:first)
    assert_match(/Connection refused/, events.first.last[:error])
  end

  test "names the unreachable broker before boot_timeout, which is shorter" do
    @node = FakeNode.new
    @node.boot_time_left = 1.0
    source = Skep::Kafka::Source.new(kafka: nowhere, group: "g", topics: "t", connect_timeout: 60)
    error = assert_raises(Skep::Kafka::BrokerUnreachable) { source.run(@node, proc {}) }
    assert_equal 75, error.exit_code
    assert_match(/answered within 0\.8 s .*; boot_timeout sets how long to wait/, error.message)
  end

  test "errors and events contain no password" do
    secret = { "security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN",
               "sasl.username": "me", "sasl.password": "tiger-lily",
               "client.rack": "tiger-lily", debug: "conf,security" }
    events, error, source = fail_to_boot(Skep::Kafka::BrokerUnreachable, secret,
                                         connect_timeout: 0.3)

    assert_includes events.map(&:first), "kafka_log"
    shown = [events, error.message, source.inspect, source.facts, source.errors].inspect
    refute_match(/tiger-lily/, shown)
  end

  test "reports a host name that can't be resolved" do
    _, error = fail_to_boot(Skep::Kafka::BrokerUnreachable,
                            { "bootstrap.servers": "nobody.invalid:9092" }, connect_timeout: 0.5)
    assert_match(/\(.*Failed to resolve 'nobody\.invalid:9092'.*\)\. Start the broker, or correct/,
                 error.message)
  end

  test "reports a plaintext port that is used with TLS" do
    broker(orders: 1)
    plain = { "bootstrap.servers": @broker.bootstrap_servers, "security.protocol": "ssl" }
    _, error = fail_to_boot(Skep::Kafka::BrokerUnreachable, plain, connect_timeout: 2)
    assert_match(/\(ssl:.*SSL_HANDSHAKE.*\)\. Set security\.protocol to the/, error.message)
  end

  test "settings that contradict each other are wrong configuration, in one sentence" do
    events, error = fail_to_boot(Skep::Kafka::ConfigurationError,
                                 { "security.protocol": "sasl_plaintext",
                                   "sasl.mechanism": "PLAIN", "sasl.username": "me" })
    assert_equal 78, error.exit_code
    assert_equal "kafka: librdkafka rejected these settings " \
                 "(sasl.username and sasl.password must be set)", error.message
    assert_empty events
  end

  test "stops at once while no broker answers" do
    started = Skep::OS.now
    @node = FakeNode.new { |name, _| @node.stop! if name == "kafka_unreachable" }
    Skep::Kafka::Source.new(kafka: nowhere, group: "g", topics: "t").run(@node, proc {})
    assert_operator Skep::OS.now - started, :<, 12
  end

  test "names a topic that the broker refuses" do
    broker(orders: 1).refuse("orders")
    error = assert_raises(Skep::Kafka::AuthorizationError) { play { flunk "there is nothing to do" } }
    assert_equal 78, error.exit_code
    assert_match(/refuses topic orders \(Broker: Topic authorization failed\)/, error.message)
    assert_match(/\. Grant this user READ and DESCRIBE on it, for example with/, error.message)
  end

  test "waits for a missing topic, and reads it once it is created" do
    broker(other: 1)
    on_event = lambda do |name, _, _|
      next unless name == "kafka_topic_missing"

      @broker.create_topic("orders", 2)
      feed("orders", [%w[k late]])
    end
    settings = @broker.settings.merge("topic.metadata.refresh.interval.ms" => 500)
    got = nil
    events = play({ kafka: settings }, on_event:) do |batch, node|
      got = batch.payloads
      node.stop!
    end

    assert_equal %w[late], got
    assert_equal(["orders"], named(events, "kafka_topic_missing").map { |facts| facts[:topic] })
    assert_empty named(events, "kafka_error")
  end

  test "doesn't start with invalid options" do
    source = Skep::Kafka::Source.new(topic: "orders")
    error = assert_raises(Skep::Kafka::ConfigurationError) { source.run(nil, nil) }
    assert_equal [source.errors, 78], [error.message.lines(chomp: true), error.exit_code]
  end

  test "with connect_timeout: nil the node is ready without a broker, and works once one answers" do
    broker(orders: 1)
    feed("orders", [%w[k late]])
    port = closed_port
    got = nil
    on_event = ->(name, *) { relay(port) if name == "ready" && @relay.nil? }
    events = play({ kafka: @broker.settings.merge("bootstrap.servers" => "127.0.0.1:#{port}"),
                    connect_timeout: nil }, on_event:) do |batch, node|
      got = batch.payloads
      node.stop!
    end

    assert_equal %w[late], got
    unreachable = named(events, "kafka_unreachable").first
    assert_equal "skep waits until a broker answers", unreachable[:hint]
  ensure
    @relay&.each(&:kill)&.each(&:join)
    @relayed&.each(&:close)
  end

  private

  # Runs a source that can't boot. Returns its events, its error and the source.
  def fail_to_boot(error, settings = {}, **options)
    events = []
    @node = FakeNode.new { |name, facts| events << [name, facts] }
    source = Skep::Kafka::Source.new(kafka: { **nowhere, **settings }, group: "g", topics: "t",
                                     **options)
    [events, assert_raises(error) { source.run(@node, proc {}) }, source]
  end

  def nowhere = { "bootstrap.servers": "127.0.0.1:#{closed_port}" }

  # Forwards connections to this port to the broker from now on.
  def relay(port)
    @relayed = [server = TCPServer.new("127.0.0.1", port)]
    @relay = [Thread.new do
      loop do
        @relayed << client = server.accept
        @relayed << there = TCPSocket.new(*@broker.bootstrap_servers.split(":"))
        @relay << Thread.new { copy(client, there) }
        @relay << Thread.new { copy(there, client) }
      end
    end]
  end

  def copy(from, to)
    IO.copy_stream(from, to)
  rescue SystemCallError # one end was closed with unread data
    nil
  end

  # Returns a port without a listener.
  def closed_port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
end
