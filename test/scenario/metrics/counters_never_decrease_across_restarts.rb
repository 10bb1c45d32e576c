# frozen_string_literal: true

# Nodes, helpers and molds are killed and replaced: no counter ever decreases, no request is
# refused, and a real Prometheus accepts all metrics, the queries of the dashboard and the alerts.
require_relative "scenario"
require_relative "support/prometheus"
require "skep/kafka"

MetricsScenario.play do
  broker = Skep::Kafka::EmbeddedBroker.start(topics: { "orders" => 4 })
  at_end { broker.stop }
  publish = lambda do |items|
    feed = Skep::Kafka::Testing::TopicSeeder.new(broker.bootstrap_servers, "orders")
    feed.publish(items.map { |number| ["key#{number}", "payload"] })
    feed.close
  end
  publish.call(1..400)
  swarm = run_swarm(<<~RUBY)
    require "skep/kafka"
    Skep.swarm "counted", nodes: 2, metrics: "127.0.0.1:0", max_restarts: 100 do |swarm|
      source = Skep::Kafka::Source.new(kafka: #{broker.settings.inspect}, group: "billing",
                                       topics: "orders")
      swarm.work(source) { |batch| batch.each { |message| message.payload } }
    end
  RUBY
  address(swarm)
  swarm.await("node_ready", times: 3)
  prometheus = Prometheus.here? && Prometheus.start(directory, "#{@host}:#{@port}")
  at_end { prometheus.stop } if prometheus
  must("have a Prometheus if CI=true promises one") { prometheus || ENV["CI"] != "true" }

  messages = 'skep_kafka_messages_total{work="0",group="billing",topic="orders"}'
  last = nil
  swarm.follow("400 messages are counted") { (last = scrape)[messages] >= 400 }
  must("time each batch: #{last}") do
    last['skep_handler_seconds_count{work="0",group="billing",topic="orders"}'] >= 1
  end
  look = lambda do |where|
    after = scrape
    must_grow(last, after, where)
    last = after
  end

  3.times do |round|
    replace(swarm, round % 2)
    look.call("after a node's death")
    replace(swarm, "helper")
    look.call("after the helper's death")
  end
  must("count 3 restarts by signal: #{last}") do
    last.sum { |series, value| series.match?(/restarts_total.*"signal"/) ? value : 0 } == 3
  end
  must("time 3 recoveries: #{last}") { last["skep_recovery_seconds_count"] == 3 }

  # A request without a helper waits for the next helper.
  swarm.kill(pid_of(swarm, "helper"))
  look.call("between two helpers")

  refused = []
  requests = Thread.new do
    Thread.current.report_on_exception = false
    until Thread.current[:over]
      begin
        get("/healthz")
      rescue SystemCallError, EOFError => e
        refused << e
      end
    end
  end
  must("reload: #{swarm.stderr}") { swarm.skep("reload", "counted").nil? }
  look.call("after a reload")
  requests[:over] = true
  requests.join
  must("refuse no request: #{refused.uniq}") { refused.empty? }

  publish.call(401..500)
  swarm.follow("100 more are counted") { (last = scrape)[messages] >= 500 }
  if prometheus
    faults = Prometheus.faults(page)
    must("pass promtool: #{faults}") { faults.nil? }
    series = prometheus.await("skep_kafka_messages_total") do |found|
      found.first&.dig("value", 1).to_i >= 500
    end
    must("have one series: #{series}") { series.size == 1 }
    lag = prometheus.await("skep_kafka_lag") { |all| all.size == 4 }
    must("report the lag of each partition: #{lag}") do
      lag.map { |one| one["metric"]["partition"] }.sort == %w[0 1 2 3]
    end
    must("be scraped without an error") { prometheus.query("up").dig(0, "value", 1) == "1" }
    dashboard = JSON.parse(File.read("#{__dir__}/../../../examples/grafana/skep.json"))
    targets = dashboard["panels"].flat_map { |panel| panel["targets"].to_a }
    bad = targets.map { |target| target["expr"] }.reject do |query|
      prometheus.query(query.gsub("$__rate_interval", "1m").gsub(/"\$\w+"/, '".*"'))
    end
    must("accept all queries of the dashboard: #{bad}") { bad.empty? }
    reference = File.read("#{__dir__}/../../../docs/reference/metrics.md", encoding: "UTF-8")
    alerts = reference.scan(/^ +expr: (.+)$/).flatten
    bad = alerts.reject { |query| prometheus.query(query) }
    must("accept all alerts of the reference, #{alerts.size}: #{bad}") { bad.empty? && alerts.any? }
  end
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
