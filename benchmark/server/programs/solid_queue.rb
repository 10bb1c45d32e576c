# frozen_string_literal: true

# Solid Queue's supervisor in a minimal Rails application, on SQLite, in this folder.
ENV["RAILS_ENV"] = "production"
require "rails"
require "active_record/railtie"
require "active_job/railtie"
require "solid_queue"
require_relative "worker_app"

DATABASE = <<~YAML
  production:
    adapter: sqlite3
    database: #{WorkerApp::FOLDER}/queue.sqlite3
    pool: 10
    timeout: 5000
YAML

Dir.mkdir("config")
File.write("config/database.yml", DATABASE)

class Jobs < Rails::Application
  config.root = WorkerApp::FOLDER
  config.eager_load = false
  config.secret_key_base = "none"
  config.logger = Logger.new($stdout)
  config.solid_queue.shutdown_timeout = WorkerApp::DAY
  config.active_job.queue_adapter = :solid_queue
end

class Busy < ActiveJob::Base
  def perform = WorkerApp.busy
end

Jobs.initialize!
gem_folder = Gem.loaded_specs["solid_queue"].full_gem_path
load "#{gem_folder}/lib/generators/solid_queue/install/templates/db/queue_schema.rb"
WorkerApp.preload
Busy.perform_later if WorkerApp.busy?
SolidQueue.on_worker_start { WorkerApp.begin }
workers = [{ queues: "*", threads: 1, processes: WorkerApp.count, polling_interval: 1 }]
SolidQueue::Supervisor.start(workers:, dispatchers: [], skip_recurring: true)
