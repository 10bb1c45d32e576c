# frozen_string_literal: true

require_relative "scenario"
require_relative "../support/page"
require "socket"

# The program of docs/guides/embedding.md: Puma and Sidekiq of one Rails application in one swarm.
# Each request enqueues a job. A reload fails no request and loses no job, and jobs run in Rails'
# executor.
SECONDS = 120.0 # of a reload, and until the jobs are done

class Client
  attr_reader :accepted, :failures

  # numbers: one for each request.
  def initialize(port, numbers)
    @accepted = []
    @failures = []
    @thread = Thread.new do
      numbers.each do |number|
        break if @over

        request(port, number)
      end
    end
  end

  def stop
    @over = true
    @thread.join
  end

  private

  def request(port, number)
    answer = TCPSocket.open("127.0.0.1", port) do |socket|
      socket.write("GET /notes/#{number} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      socket.wait_readable(Patience.of(SECONDS)) && socket.read
    end
    right = answer&.start_with?("HTTP/1.1 200 ") && answer.end_with?("accepted #{number}")
    right ? @accepted << number : @failures << answer
  rescue SystemCallError => e
    @failures << e.message
  end
end

RailsScenario.play do
  edit = ->(path, from, to) { write(path, File.read("#{root}/#{path}").sub(from, to)) }
  edit.call("config/application.rb", "config.active_job.queue_adapter = :skep", "")
  edit.call("config/application.rb", "active_job/railtie", "action_controller/railtie")
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
  examples = File.expand_path("../../../examples", __dir__)
  FileUtils.cp_r("#{examples}/sidekiq_in_a_swarm/guest", root)
  FileUtils.cp("#{examples}/puma_in_a_swarm/listen", root)
  page = Page.new(File.expand_path("../../../docs/guides/embedding.md", __dir__))
  write("swarm.rb", page.programs.fetch("swarm.rb"))

  ENV["REDIS_URL"] = "unix://#{redis}"
  port = TCPServer.open(0) { |server| server.addr[1] }
  swarm = run_application(under: ["env", "-C", root, RbConfig.ruby, "listen", port.to_s])
  swarm.await("node_ready", times: 4)
  clients = Array.new(2) { |index| Client.new(port, (index * 1_000_000).step) }
  answered = -> { clients.sum { |client| client.accepted.size } }
  swarm.follow("requests are answered") { answered.call >= 20 }
  before = answered.call
  reload = Thread.new do
    Skep::Control::Client.new("#{directory}/shop.sock")
                         .call("reload", timeout: Patience.of(SECONDS))
  end
  swarm.follow("the reload is over", seconds: SECONDS) { !reload.alive? }
  answer = reload.value
  must("reload: #{answer}; #{swarm.account}") { answer["done"] == "reload" }
  swarm.follow("requests are answered after it") { answered.call >= before + 20 }
  clients.each(&:stop)

  failures = clients.flat_map(&:failures)
  must("answer all requests, not fail #{failures.size}: #{failures.first(3)}") { failures.empty? }
  numbers = clients.flat_map(&:accepted)
  swarm.follow(-> { "#{noted} of #{numbers.size} jobs are done" }, seconds: SECONDS) do
    noted >= numbers.size
  end
  missing = numbers - rows("SELECT number FROM notes").map { |row| Integer(row.first) }
  must("do each job, not lose #{missing.size}: #{missing.first(3)}") { missing.empty? }
  texts = rows("SELECT DISTINCT text FROM notes").flatten
  must("run jobs in the executor, not: #{texts}") { texts == ["executor: true"] }
  must("stop with 0: #{swarm.account}") { swarm.stop.exitstatus.zero? }
  puts "#{numbers.size} requests answered and jobs done"
end
