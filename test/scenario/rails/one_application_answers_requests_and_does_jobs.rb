# frozen_string_literal: true

require_relative "scenario"
require_relative "../support/page"
require_relative "../support/web_client"

# The program of docs/guides/embedding.md, and Solid Queue in it: Puma, Sidekiq, Solid Queue and a
# Kafka consumer of one Rails application in one swarm. Each request enqueues a job for both. A
# reload, with nodes killed before it, fails no request and loses no job and no message, and jobs
# run in Rails' executor. With SKEP_ROUNDS=20 there are 20 reloads, each with kills before it, and
# one work leaks memory, so that its limit replaces its node again and again.
SECONDS = 120.0 # of a reload, and until the jobs are done
ROUNDS = Integer(ENV.fetch("SKEP_ROUNDS", 1))
LEAK = ROUNDS > 1 ? 1 << 20 : 0 # bytes a job

RailsScenario.play do
  edit = ->(path, from, to) { write(path, File.read("#{root}/#{path}").sub(from, to)) }
  edit.call("config/application.rb", "config.active_job.queue_adapter = :skep", "")
  edit.call("config/application.rb", "Bundler.require",
            "require \"action_controller/railtie\"\nBundler.require\n" \
            "require \"solid_queue\"\nrequire \"sidekiq\"")
  write("config/initializers/kafka.rb", "")
  write("config/initializers/sidekiq.rb", <<~RUBY) # nobody reads its log all the time
    Sidekiq.configure_server { |config| config.logger.level = Logger::WARN }
  RUBY
  write("config.ru", "require_relative \"config/environment\"\nrun Rails.application\n")
  write("config/routes.rb", <<~RUBY)
    Rails.application.routes.draw { get "notes/:number", to: "notes#create" }
  RUBY
  write("app/controllers/notes_controller.rb", <<~RUBY)
    class NotesController < ActionController::Base
      def create
        NoteJob.perform_async(Integer(params[:number]))
        QuickJob.perform_later(Integer(params[:number]))
        render plain: "accepted \#{params[:number]}"
      end
    end
  RUBY
  write("app/jobs/note_job.rb", <<~RUBY)
    class NoteJob
      include Sidekiq::Job

      def perform(number)
        Note.create!(number:, text: "executor: \#{Rails.application.executor.active?}")
      end
    end
  RUBY
  write("app/jobs/quick_job.rb", <<~RUBY)
    class QuickJob < ActiveJob::Base
      self.queue_adapter = :solid_queue
      queue_as :quick

      def perform(number)
        ($leaked ||= []) << ("x" * #{LEAK})
        Note.create!(number: 10_000_000 + number, text: "executor: \#{Rails.application.executor.active?}")
      end
    end
  RUBY
  write("app/models/order.rb", <<~RUBY)
    class Order
      def self.import(order)
        Note.create!(number: 20_000_000 + order["id"], text: "executor: \#{Rails.application.executor.active?}")
      end
    end
  RUBY
  write("config/database.yml", "production: { url: <%= ENV[\"DATABASE_URL\"] %>, pool: 15 }\n")
  page = Page.new(File.expand_path("../../../docs/guides/embedding.md", __dir__))
  program = page.programs.fetch("swarm.rb")
  brokers = "\"bootstrap.servers\": ENV.fetch(\"KAFKA_BROKERS\")"
  quick = "swarm.work(Skep::SolidQueue.new(threads: 2, queues: %w[quick]), nodes: 1" \
          "#{", memory_limit: \"400M\"" if ROUNDS > 1})"
  { brokers => "#{brokers}, \"auto.offset.reset\": \"earliest\", " \
               "**JSON.parse(ENV.fetch(\"KAFKA\"), symbolize_names: true)",
    "require \"skep/puma\"" => "require \"skep/puma\"\nrequire \"skep/solid_queue\"",
    "swarm.work(orders" => "#{quick}\n  swarm.work(orders" }.each do |from, to|
    program = program.sub(from) { to }
    must("replace #{from} in the page's program") { program.include?(to) }
  end
  write("swarm.rb", program)
  in_application(<<~RUBY)
    gem_folder = Gem.loaded_specs.fetch("solid_queue").full_gem_path
    ActiveRecord::Migration.verbose = false
    load "\#{gem_folder}/lib/generators/solid_queue/install/templates/db/queue_schema.rb"
  RUBY

  broker.create_topic("orders", 4)
  broker.create_topic("orders.dead", 1)
  ENV["REDIS_URL"] = "unix://#{redis}"
  port = TCPServer.open(0) { |server| server.addr[1] }
  listen = File.expand_path("../../../skep-guests/exe/skep-listen", __dir__)
  swarm = run_application(under: ["env", "-C", root, RbConfig.ruby, listen, port.to_s])
  swarm.await("node_ready", times: 6)
  clients = Array.new(2) do |index|
    WebClient.new(port, (index * 1_000_000).step, path: "/notes/") do |number, answer|
      answer.start_with?("HTTP/1.1 200 ") && answer.end_with?("accepted #{number}")
    end
  end
  answered = -> { clients.sum { |client| client.accepted.size } }
  swarm.follow("requests are answered", seconds: SECONDS) { answered.call >= 20 }
  orders = 500
  seeder = Skep::Kafka::Testing::TopicSeeder.new(broker.bootstrap_servers, "orders")
  socket = Skep::Control::Client.new("#{directory}/shop.sock")
  ROUNDS.times do |round|
    ids = (round * orders)...((round + 1) * orders)
    seeder.publish(ids.map { |id| [id.to_s, JSON.generate(id:), id % 4] })
    # All but those of Puma, whose requests in flight would be lost.
    nodes = socket.call("status").fetch("status")["nodes"]
    nodes.select { |node| node["id"] > 1 }.each do |node|
      swarm.kill(node["pid"])
      swarm.await(GONE) { |event| event["pid"] == node["pid"] }
    end
    before = answered.call
    reload = Thread.new { socket.call("reload", timeout: Patience.of(SECONDS)) }
    swarm.follow("the reload is over", seconds: SECONDS) { !reload.alive? }
    answer = reload.value
    must("reload: #{answer}; #{swarm.account}") { answer["done"] == "reload" }
    swarm.follow("requests are answered after it") { answered.call >= before + 20 }
  end
  seeder.close
  clients.each(&:stop)

  failures = clients.flat_map(&:failures)
  must("answer all requests, not fail #{failures.size}: #{failures.first(3)}") { failures.empty? }
  requests = clients.flat_map(&:accepted)
  numbers = requests + requests.map { |number| 10_000_000 + number } +
            Array.new(orders * ROUNDS) { |id| 20_000_000 + id }
  left = -> { "#{noted} of #{numbers.size} jobs and orders are done" }
  swarm.follow(left, seconds: SECONDS * ROUNDS) { noted >= numbers.size }
  missing = numbers - rows("SELECT number FROM notes").map { |row| Integer(row.first) }
  must("do each job, not lose #{missing.size}: #{missing.first(3)}") { missing.empty? }
  texts = rows("SELECT DISTINCT text FROM notes").flatten
  must("run jobs in the executor, not: #{texts}") { texts == ["executor: true"] }
  if LEAK.positive?
    replaced = swarm.events.count do |event|
      event["event"] == "node_replaced" && event["reason"] == "memory_limit"
    end
    puts "a node that leaks was replaced #{replaced} times"
    must("replace the node that leaks") { replaced.positive? }
  end
  must("stop with 0: #{swarm.account}") { swarm.stop.exitstatus.zero? }
  puts "#{requests.size} requests answered, #{numbers.size} jobs and orders done"
end
