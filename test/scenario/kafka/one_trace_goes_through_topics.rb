# frozen_string_literal: true

require_relative "scenario"
require "json"

# A producer with OpenTelemetry's SDK writes three orders, each in its own span. One topic's handler
# produces messages for another topic's handler. One message fails and becomes a dead letter. All
# spans of a message are in the producer's trace, each the child of the span before it. The dead
# letter's headers name that trace. The SDK exports the spans to a file.
class Traced < KafkaScenario
  SDK = <<~RUBY
    require "opentelemetry/sdk"
    exporter = Object.new
    exporter.define_singleton_method(:export) do |spans, **|
      lines = spans.map do |span|
        facts = { name: span.name, kind: span.kind, trace: span.hex_trace_id,
                  span: span.hex_span_id, parent: span.hex_parent_span_id,
                  events: span.events.to_a.map(&:name) }
        "\#{JSON.generate(facts)}\\n"
      end
      File.write(SPANS, lines.join, mode: "a")
      OpenTelemetry::SDK::Trace::Export::SUCCESS
    end
    exporter.define_singleton_method(:force_flush) { |**| nil }
    exporter.define_singleton_method(:shutdown) { |**| nil }
    set_up = lambda do
      processor = OpenTelemetry::SDK::Trace::Export::BatchSpanProcessor.new(exporter)
      OpenTelemetry::SDK.configure { |config| config.add_span_processor(processor) }
    end
  RUBY

  def try
    %w[orders invoices dead].each { |name| topic(name, 1) }
    swarm = run_swarm(source)
    swarm.await("kafka_rebalance") { |event| event["partitions"].any? }
    produce
    swarm.follow("all messages are handled") do
      dead = swarm.events.count { |event| event["event"] == "dead_lettered" }
      dead == 1 && File.exist?(file) && File.readlines(file).size == 2
    end
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    check(File.readlines(spans).map { |line| JSON.parse(line) })
  end

  private

  def spans = File.join(directory, "spans")

  def produce
    program = <<~RUBY
      require "json"
      require "skep/kafka"
      SPANS = #{spans.inspect}
      #{SDK}
      set_up.call
      producer = Skep::Kafka::Producer.new({ "bootstrap.servers": "#{broker.address}" })
      tracer = OpenTelemetry.tracer_provider.tracer("shop")
      %w[a b bad].each do |order|
        tracer.in_span("order \#{order}") { producer.produce_sync("orders", order, timeout: 10) }
      end
      OpenTelemetry.tracer_provider.shutdown
    RUBY
    must("produce the orders") { system(RbConfig.ruby, "-r./load_path", "-e", program) }
  end

  def check(found)
    by_trace = found.group_by { |one| one["trace"] }
    %w[a b bad].each do |order|
      first = found.find { |one| one["name"] == "order #{order}" }
      chain = chain(by_trace.fetch(first["trace"]), first)
      expected = order == "bad" ? ["process orders"] : ["process orders", "process invoices"]
      must("export one trace for #{order}, not #{chain}") { chain == expected }
    end
    bad = found.find { |one| one["name"] == "order bad" }
    context = read("dead").first[:headers]["traceparent"]
    must("name the trace in the dead letter's headers") { context.split("-")[1] == bad["trace"] }
    failed = found.select { |one| one["events"].include?("exception") }.map { |one| one["trace"] }
    must("record the exception in the span") { failed == [bad["trace"]] }
    puts "3 traces, #{found.size} spans"
  end

  # Returns the names of a span's descendants, each the child of the one before.
  def chain(spans, parent)
    child = spans.find { |one| one["parent"] == parent["span"] } or return []
    [child["name"], *chain(spans, child)]
  end

  def source
    <<~RUBY
      require "json"
      require "skep/kafka"
      SPANS = #{spans.inspect}
      #{SDK}
      kafka = { "bootstrap.servers": "#{broker.address}" }
      source = Skep::Kafka::Source.new(kafka:, group: "readers", max_messages: 1) do |one|
        one.topic("orders", dead_letter_topic: "dead", max_attempts: 1, retry_for: nil) do |batch, node|
          batch.each do |message|
            raise ArgumentError, "bad" if message.payload == "bad"

            node.producer.produce("invoices", message.payload)
          end
        end
        one.topic("invoices") do |batch, _|
          batch.each { |message| File.write("#{file}", "\#{message.payload}\\n", mode: "a") }
        end
      end
      Skep.swarm "traced", nodes: 1 do |swarm|
        swarm.on_boot do |node|
          set_up.call
          node.on_stop { OpenTelemetry.tracer_provider.force_flush }
        end
        swarm.work(source)
      end
    RUBY
  end
end

Traced.play { try }
