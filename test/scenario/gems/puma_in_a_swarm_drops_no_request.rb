# frozen_string_literal: true

# examples/puma_in_a_swarm answers each request under load, during a restart and a reload. In
# production it answers an error of the application without a backtrace.
require_relative "../scenario"
require "fileutils"
require "socket"

FOLDER = File.expand_path("../../../examples/puma_in_a_swarm", __dir__)
LISTEN = File.expand_path("../../../skep-guests/exe/skep-listen", __dir__)
CLIENTS = 2

# Sends requests in a loop, each over a new connection. Counts answers and keeps failures.
class Client
  attr_reader :answered, :failures

  def self.get(port, path)
    TCPSocket.open("127.0.0.1", port) do |socket|
      socket.write("GET #{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      socket.wait_readable(Scenario::SECONDS) && socket.read
    end
  end

  def initialize(port)
    @answered = 0
    @failures = []
    @thread = Thread.new { request(port) until @over }
  end

  def stop
    @over = true
    @thread.join(Scenario::SECONDS)
  end

  private

  def request(port)
    answer = Client.get(port, "/#{@answered}")
    right = answer&.match?(%r{\AHTTP/1.1 200 .*/#{@answered} by \d}m)
    right ? @answered += 1 : @failures << answer
  rescue SystemCallError => e
    @failures << e.message
  end
end

Scenario.play do
  port = TCPServer.open(0) { |server| server.addr[1] }
  copy = lambda do |place|
    FileUtils.cp_r("#{FOLDER}/.", place)
    app = File.read("#{place}/app.rb")
    failing = app.sub("|env|", "|env|\n  raise if env[\"PATH_INFO\"] == \"/bad\"")
    File.write("#{place}/app.rb", failing)
  end
  swarm = run_swarm(nil, under: [RbConfig.ruby, LISTEN, port.to_s], prepare: copy,
                         env: { "APP_ENV" => nil, "RACK_ENV" => nil, "RAILS_ENV" => "production" })
  swarm.await("node_ready", times: 2)
  clients = Array.new(CLIENTS) { Client.new(port) }

  socket = Skep::Control::Client.new(File.join(swarm.directory, "web.sock"))
  %w[restart reload].each do |name|
    before = clients.sum(&:answered)
    answer = socket.call(name, timeout: Scenario::SECONDS)
    must("perform the #{name}: #{answer}; #{swarm.account}") { answer["done"] == name }
    swarm.follow("requests are answered after the #{name}") do
      clients.sum(&:answered) > before + 20
    end
  end
  clients.each(&:stop)

  failures = clients.flat_map(&:failures)
  must("answer all requests, not fail #{failures.size}: #{failures.first(3)}") { failures.empty? }
  answer = Client.get(port, "/bad")
  must("answer an error without a backtrace, not #{answer}") do
    answer.start_with?("HTTP/1.1 500 ") && !answer.include?("app.rb")
  end
  must("stop with 0: #{swarm.account}") { swarm.stop.exitstatus.zero? }
  puts "#{clients.sum(&:answered)} requests, all answered"
end
