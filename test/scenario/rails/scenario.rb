# frozen_string_literal: true

require_relative "../scenario"
require_relative "../../../examples/support/postgres"
require "fileutils"
require "pg"
require "skep/kafka"

# The base of the Rails scenarios (`bin/setup rails` installs what they need): a small but real
# Rails application, on PostgreSQL and the embedded broker.
#
#   RailsScenario.play do
#     install                          # runs `rails generate skep:install`
#     swarm = run_application
#     in_application("NoteJob.perform_later(1)")     # runs another process; returns its output
#     rows("SELECT number FROM notes")               # => [["1"]]
#   end
class RailsScenario < Scenario
  LOAD_PATH = File.expand_path("../../../load_path", __dir__)
  SKEP = File.expand_path("../../../skep/exe/skep", __dir__)
  TOPICS = { "default" => 8, "dead" => 1, "delay-0.5s" => 1, "delay-2s" => 1 }.freeze
  FILES = {
    "config/boot.rb" => "require \"bundler/setup\"\n",
    "config/application.rb" => <<~RUBY,
      require_relative "boot"
      require "rails"
      require "active_record/railtie"
      require "active_job/railtie"
      Bundler.require

      module Shop
        class Application < Rails::Application
          config.load_defaults Rails::VERSION::STRING.to_f
          config.secret_key_base = "none"
          config.eager_load = Rails.env.production?
          config.enable_reloading = Rails.env.development?
          config.logger = Logger.new("log/rails.log")
          config.active_job.queue_adapter = :skep
          config.active_record.maintain_test_schema = false
        end
      end
    RUBY
    "config/environment.rb" => <<~RUBY,
      require_relative "application"
      Rails.application.initialize!
    RUBY
    "config/initializers/kafka.rb" => <<~RUBY, # runs before the generated one
      Rails.application.configure do
        config.skep.prefix = "shop.jobs."
        config.skep.delays = [0.5, 2]
        config.after_initialize { config.skep.kafka.merge!(JSON.parse(ENV.fetch("KAFKA"))) }
      end
      Rails.error.subscribe(Class.new do
        def report(error, handled:, severity:, context:, source:)
          facts = { error: error.message, handled:, source:, job: context[:job]&.class&.name,
                    **context.slice(:swarm, :node, :topic, :partition, :offset) }
          File.write("log/errors", JSON.generate(facts) << "\\n", mode: "a")
        end
      end.new)
    RUBY
    "app/models/note.rb" => <<~RUBY,
      class Note < ActiveRecord::Base
        def self.backend = connection.select_value("SELECT pg_backend_pid()")
      end
    RUBY
    "app/jobs/note_job.rb" => <<~RUBY,
      class NoteJob < ActiveJob::Base
        def perform(number)
          Note.create!(number:, text: "first", pid: Process.pid, backend: Note.backend)
        end
      end
    RUBY
    "swarm.rb" => <<~RUBY
      require_relative "config/boot"
      require "skep/rails"
      require_relative "config/environment"
      Skep.swarm("shop", nodes: 1) do |swarm|
        swarm.work Skep::Rails.jobs("default", threads: 3, retry_for: 1)
      end
    RUBY
  }.freeze
  private_constant :LOAD_PATH, :SKEP, :TOPICS, :FILES

  def play(directory)
    FILES.each { |path, text| write("#{directory}/app", path, text) }
    FileUtils.mkdir_p("#{directory}/app/log")
    super
  end

  def root = "#{directory}/app"

  def write(root = self.root, path, text)
    FileUtils.mkdir_p(File.dirname("#{root}/#{path}"))
    File.write("#{root}/#{path}", text)
  end

  def broker
    @broker ||= Skep::Kafka::EmbeddedBroker.start(
      topics: TOPICS.transform_keys { |name| "shop.jobs.#{name}" }
    ).tap { |broker| at_end { broker.stop } }
  end

  # Returns a PostgreSQL with the table notes.
  def notes
    @notes ||= Postgres.start.tap do |postgres|
      at_end { postgres.stop }
      postgres.query("CREATE TABLE notes (id serial PRIMARY KEY, number int, text text, pid int, " \
                     "backend int)")
    end
  end

  # Starts a Redis on a UNIX socket; returns the path.
  def redis
    @redis ||= "#{directory}/redis.sock".tap do |path|
      options = { "port" => 0, "unixsocket" => path, "save" => "", "dir" => directory }
      start_redis(options.flat_map { |name, value| ["--#{name}", value.to_s] })
    end
  end

  # Sets a database URL to which no connection is possible.
  def without_database = @database_url = "postgresql:///none"

  def environment
    @database_url ||= notes.url
    { "RAILS_ENV" => @rails_env || "production", "DATABASE_URL" => @database_url,
      "KAFKA_BROKERS" => broker.bootstrap_servers, "KAFKA" => JSON.generate(broker.settings),
      "SKEP_RUN_DIR" => directory }
  end

  # Runs the Rails generator twice: the second run must keep existing files.
  def install
    write("Procfile.dev", "web: bin/rails server")
    in_application(<<~RUBY)
      require "rails/generators"
      Rails::Generators.invoke("skep:install")
      File.write("config/skep.rb", "# mine\n", mode: "a")
      Rails::Generators.invoke("skep:install")
    RUBY
    must("keep existing files") { File.read("#{root}/config/skep.rb").end_with?("# mine\n") }
    write("swarm.rb", "require_relative \"config/skep\"\n")
  end

  def skep(*arguments) = application(SKEP, *arguments)

  # Runs Ruby code in the application; returns its output. Its failure fails the scenario.
  def in_application(source)
    application("-e", "require \"./config/environment\"; #{source}")
  end

  # Runs Ruby code that stops at each `$stdin.gets`, and calls the block at each stop. Returns the
  # whole output.
  def step_by_step(source, &)
    source = "$stdout.sync = true; require \"./config/environment\"; #{source}"
    source = source.gsub("$stdin.gets", "puts(\"STOP\"); $stdin.gets")
    command = [RbConfig.ruby, "-r#{LOAD_PATH}", "-e", source]
    Open3.popen2e(environment, *command, chdir: root) do |input, output, thread|
      printed = follow_steps(input, output, &)
      thread.value.success? ? printed : raise(Failed, printed)
    end
  end

  def run_application(env: @rails_env, **more)
    @rails_env = env
    run_swarm(nil, in_directory: root, env: environment, under: ["env", "-C", root], **more)
  end

  # Returns the number of distinct notes.
  def noted = Integer(rows("SELECT count(DISTINCT number) FROM notes").first.first)

  def rows(sql)
    @database ||= PG.connect(notes.url).tap { |connection| at_end { connection.close } }
    @database.exec(sql).values
  end

  # Returns the errors that Rails.error has received.
  def reported
    File.readlines("#{root}/log/errors").map { |line| JSON.parse(line) }
  rescue Errno::ENOENT
    []
  end

  private

  def follow_steps(input, output)
    output.each_line.with_object(+"") do |line, printed|
      next printed << line unless line == "STOP\n"

      yield
      input.puts
    end
  end

  def start_redis(options)
    reader, writer = IO.pipe
    pidfd = Skep.pidfd(Process.spawn("redis-server", *options, out: writer, err: writer))
    at_end { Scenario.kill(pidfd) }
    writer.close
    log = +""
    log << reader.readpartial(4096) until log.match?(/ready to accept/i)
  rescue EOFError, Errno::ENOENT
    raise Failed, "no redis-server is installed: bin/setup rails"
  end

  def application(*command)
    command = [RbConfig.ruby, "-r#{LOAD_PATH}", *command]
    output, status = Open3.capture2e(environment, *command, chdir: root)
    status.success? ? output : raise(Failed, "#{command.join(" ")}: #{output}")
  end
end
