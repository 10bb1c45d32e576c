# frozen_string_literal: true

require_relative "../scenario"
require_relative "../../../examples/support/postgres"
require "fileutils"
require "pg"
require "skep/kafka"

# What scenarios of a Rails application share (`bin/setup rails` installs what these need): a small
# but real one, on a PostgreSQL and the embedded broker.
#
#   RailsScenario.play do
#     install                          # what a user has from `rails generate skep:install`
#     swarm = run_application
#     in_application("NoteJob.perform_later(1)")     # another process of it; what it printed
#     rows("SELECT number FROM notes")               # => [["1"]]
#   end
class RailsScenario < Scenario
  LIB = File.expand_path("../../../lib", __dir__)
  SKEP = File.expand_path("../../../exe/skep", __dir__)
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
    "config/initializers/kafka.rb" => <<~RUBY, # before the generated one, which knows the brokers
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
          Note.create!(number:, said: "first", pid: Process.pid, backend: Note.backend)
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
  private_constant :LIB, :SKEP, :TOPICS, :FILES

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

  # With a table of notes.
  def notes
    @notes ||= Postgres.start.tap do |postgres|
      at_end { postgres.stop }
      postgres.query("CREATE TABLE notes (id serial PRIMARY KEY, number int, said text, pid int, " \
                     "backend int)")
    end
  end

  # A Redis of its own, on a UNIX socket alone: its path.
  def redis
    @redis ||= "#{directory}/redis.sock".tap do |path|
      options = { "port" => 0, "unixsocket" => path, "save" => "", "dir" => directory }
      start_redis(options.flat_map { |name, value| ["--#{name}", value.to_s] })
    end
  end

  # Nobody is to connect to one.
  def without_database = @database_url = "postgresql:///nobody"

  def environment
    @database_url ||= notes.url
    { "RAILS_ENV" => @rails_env || "production", "DATABASE_URL" => @database_url,
      "KAFKA_BROKERS" => broker.bootstrap_servers, "KAFKA" => JSON.generate(broker.settings),
      "SKEP_RUN_DIR" => directory }
  end

  # By Rails' own generators: twice, as what is there must stay as it is.
  def install
    write("Procfile.dev", "web: bin/rails server")
    in_application(<<~RUBY)
      require "rails/generators"
      Rails::Generators.invoke("skep:install")
      File.write("config/skep.rb", "# mine\n", mode: "a")
      Rails::Generators.invoke("skep:install")
    RUBY
    must("keep what is there") { File.read("#{root}/config/skep.rb").end_with?("# mine\n") }
    write("swarm.rb", "require_relative \"config/skep\"\n")
  end

  def skep(*arguments) = application(SKEP, *arguments)

  # What it printed; its failure is the scenario's.
  def in_application(source)
    application("-e", "require \"./config/environment\"; #{source}")
  end

  # The same of a program that stops at each line `$stdin.gets`: the block is called at each of its
  # stops. What it printed in all.
  def step_by_step(source, &)
    source = "$stdout.sync = true; require \"./config/environment\"; #{source}"
    source = source.gsub("$stdin.gets", "puts(\"STOP\"); $stdin.gets")
    command = [RbConfig.ruby, "-I#{LIB}", "-e", source]
    Open3.popen2e(environment, *command, chdir: root) do |input, output, thread|
      said = follow_steps(input, output, &)
      thread.value.success? ? said : raise(Failed, said)
    end
  end

  def run_application(env: @rails_env, **more)
    @rails_env = env
    run_swarm(nil, in_directory: root, env: environment, under: ["env", "-C", root], **more)
  end

  # How many different notes there are.
  def noted = Integer(rows("SELECT count(DISTINCT number) FROM notes").first.first)

  def rows(sql)
    @database ||= PG.connect(notes.url).tap { |connection| at_end { connection.close } }
    @database.exec(sql).values
  end

  # What Rails.error was told.
  def reported
    File.readlines("#{root}/log/errors").map { |line| JSON.parse(line) }
  rescue Errno::ENOENT
    []
  end

  private

  def follow_steps(input, output)
    output.each_line.with_object(+"") do |line, said|
      next said << line unless line == "STOP\n"

      yield
      input.puts
    end
  end

  def start_redis(options)
    reader, writer = IO.pipe
    pidfd = Skep.pidfd(Process.spawn("redis-server", *options, out: writer, err: writer))
    at_end { Scenario.kill(pidfd) }
    writer.close
    said = +""
    said << reader.readpartial(4096) until said.match?(/ready to accept/i)
  rescue EOFError, Errno::ENOENT
    raise Failed, "there is no redis-server that runs: bin/setup rails"
  end

  def application(*command)
    said, status = Open3.capture2e(environment, RbConfig.ruby, "-I#{LIB}", *command, chdir: root)
    status.success? ? said : raise(Failed, "#{command.join(" ")}: #{said}")
  end
end
