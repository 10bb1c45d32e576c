# frozen_string_literal: true

require "test_helper"
require "json"

# Spans of OpenTelemetry's SDK, kept in memory. Each test runs in its own Ruby process, because the
# SDK can't be unloaded.
class TracingTest < Skep::TestCase
  TRACE = "0af7651916cd43dd8448eb211c80319c"
  PARENT = "b7ad6b7169203331"
  SDK = <<~RUBY
    require "opentelemetry/sdk"
    exporter = OpenTelemetry::SDK::Trace::Export::InMemorySpanExporter.new
    processor = OpenTelemetry::SDK::Trace::Export::SimpleSpanProcessor.new(exporter)
    OpenTelemetry::SDK.configure { |config| config.add_span_processor(processor) }
    SPANS = -> { exporter.finished_spans }
  RUBY
  private_constant :TRACE, :PARENT, :SDK

  test "the span of a message, and what its handler produces, are in the message's trace" do
    found = traced(<<~RUBY)
      run([message("a"), "b"]) do |batch, node|
        batch.each { |message| node.producer.produce("next", message.payload, headers: { "x" => "y" }) }
      end
    RUBY
    one, all = found["spans"]

    assert_equal [TRACE, PARENT, "process orders", "consumer"],
                 one.values_at("trace", "parent", "name", "kind")
    assert_equal ["kafka", "orders", "0", "g", 0], one["attributes"].values_at(
      "messaging.system", "messaging.destination.name", "messaging.destination.partition.id",
      "messaging.consumer.group.name", "messaging.kafka.offset"
    )
    assert_equal [all["span"]], one["links"]
    assert_equal [PARENT], all["links"]
    assert_equal 2, all["attributes"]["messaging.batch.message_count"]
    refute_equal TRACE, all["trace"]
    assert_equal [{ "traceparent" => "00-#{TRACE}-#{one["span"]}-01", "x" => "y" },
                  { "traceparent" => "00-#{all["trace"]}-#{all["span"]}-01", "x" => "y" }],
                 found["written"]
  end

  test "a batch of one message has one span, in the message's trace" do
    found = traced(<<~RUBY, max_messages: 1)
      run([message("a")]) { |batch, _| batch.each { |_| nil } }
    RUBY

    assert_equal [[TRACE, PARENT]], (found["spans"].map { |one| one.values_at("trace", "parent") })
  end

  test "records an exception, adds a span for a retry, and ends the span at a break" do
    found = traced(<<~RUBY)
      tries = 0
      run([message("a"), message("b")]) do |batch, _|
        batch.each { |_| (tries += 1) == 1 ? raise("no") : break }
      end
    RUBY
    events = found["spans"].map { |one| one["events"] }

    assert_equal [["exception"], ["exception"], [], []], events
  end

  test "keeps a traceparent of the handler's own, and ignores an invalid one" do
    found = traced(<<~RUBY)
      broken = { payload: "a", headers: { "traceparent" => "\\xFF no" } }
      twice = { payload: "b", headers: { "traceparent" => ["00-x", "00-#{TRACE}-#{PARENT}-01"] } }
      run([broken, twice]) do |batch, node|
        batch.each { |_| node.producer.produce("next", "c", headers: { traceparent: "mine" }) }
      end
    RUBY

    parents = found["spans"].map { |one| one["trace"] if one["parent"] == PARENT }
    assert_equal [TRACE, nil], parents
    assert_equal [{ "traceparent" => "mine" }] * 2, found["written"]
  end

  test "adds no header without a configured SDK" do
    found = traced(<<~RUBY, sdk: 'require "opentelemetry"; SPANS = -> { [] }')
      run([message("a")]) { |batch, node| batch.each { |_| node.producer.produce("next", "b") } }
    RUBY

    assert_equal [{}], found["written"]
  end

  private

  # Runs a program that may call `run(messages) { |batch, node| … }` and `message(payload)`.
  def traced(program, sdk: SDK, max_messages: 500)
    Gem::Specification.find_by_name("opentelemetry-sdk")
    out, err, status = run_program(<<~RUBY, gems: true)
      require "skep/kafka/testing"
      #{sdk}
      WRITTEN = []
      def message(payload)
        { payload:, headers: { "traceparent" => "00-#{TRACE}-#{PARENT}-01" } }
      end

      def run(messages, &handler)
        source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "none" }, group: "g",
                                         topics: "orders", max_messages: #{max_messages})
        result = Skep::Kafka::Testing.run(source, messages, &handler)
        WRITTEN.concat(result.node.produced.map { |one| one.headers.to_h })
      end
      #{program}
      spans = SPANS.call.map do |span|
        { name: span.name, kind: span.kind, trace: span.hex_trace_id, span: span.hex_span_id,
          parent: span.hex_parent_span_id, attributes: span.attributes,
          links: span.links.to_a.map { |link| link.span_context.hex_span_id },
          events: span.events.to_a.map(&:name) }
      end
      puts JSON.generate(spans:, written: WRITTEN)
    RUBY
    assert_predicate status, :success?, err
    JSON.parse(out.lines.last)
  rescue Gem::MissingSpecError
    skip "there is no opentelemetry-sdk"
  end
end
