# frozen_string_literal: true

require_relative "../scenario"
require "net/http"
require "socket"

# The base of the metrics' scenarios: a swarm that serves metrics, scraped like Prometheus does.
#
#   MetricsScenario.play do
#     swarm = run_swarm(…)                  # with metrics: "127.0.0.1:0"
#     address(swarm)                        # reads the address from the log
#     get("/readyz")                        # => [503, "not ready: it is booting\n"]
#     scrape                                # => { 'skep_nodes{state="ready"}' => 2.0, … }
#     counters(scrape)                      # only series that never decrease
#   end
class MetricsScenario < Scenario
  def address(swarm)
    @host, @port = swarm.await("metrics_listening")["address"].split(":")
  end

  # Opens a connection for each request. Raises if it is refused or closed. Returns nil if there is
  # no answer within so many seconds.
  def get(path, seconds: nil)
    how = [@host, @port.to_i, nil, { read_timeout: seconds || SECONDS, max_retries: 0 }]
    answer = Net::HTTP.start(*how) { |http| http.get(path) }
    [answer.code.to_i, answer.body]
  rescue Net::ReadTimeout
    raise unless seconds
  end

  # Asks until the block returns true. Returns the seconds that each answer took, sorted.
  def probe(path, expected)
    seconds = []
    until yield
      began = Skep::OS.now
      answer = get(path)
      seconds << (Skep::OS.now - began)
      must("answer #{path} with #{expected}, not #{answer}") { answer == expected }
    end
    seconds.sort
  end

  # Returns the first answer with that code; retries after each log line and every 0.2 s.
  def await_answer(swarm, path, code)
    answer = nil
    swarm.follow("#{path} answers #{code}, not #{answer}") { (answer = get(path)).first == code }
    answer.last
  end

  # Retries: on a busy machine the supervisor may be late.
  def page
    deadline = Skep::OS.now + SECONDS
    code, body = get("/metrics") until code == 200 || Skep::OS.now > deadline
    must("answer with figures, not #{code} #{body}") { code == 200 }
    body
  end

  def scrape(text = page)
    text.lines.reject { |line| line.start_with?("#") }.to_h do |line|
      series, _, value = line.rpartition(" ")
      [series, Float(value)]
    end
  end

  # Without the counters of a node's process and of its Kafka client, which end with it: a slow
  # machine may scrape the statistics of the client, which come every 15 s.
  def counters(figures)
    figures.select do |series, _|
      series.match?(/_(?:total|count|sum|bucket)(?:\{|\z)/) &&
        !series.match?(/\Askep_(?:node_(?:done|cpu)|kafka_client)_/)
    end
  end

  # Fails if a counter has decreased.
  def must_grow(before, after, where)
    shrunk = counters(before).reject { |series, value| after.fetch(series, 0) >= value }
    must("keep its counters #{where}: #{shrunk} became #{after.slice(*shrunk.keys)}") do
      shrunk.empty?
    end
  end

  def pid_of(swarm, node)
    ready = swarm.events.select { |one| one["event"] == "node_ready" && one["node"] == node }
    ready.last["pid"]
  end

  # Kills the node's process; returns once another one is ready.
  def replace(swarm, node)
    before = pid_of(swarm, node)
    swarm.kill(before)
    swarm.follow("#{node} is back") { pid_of(swarm, node) != before }
  end
end
