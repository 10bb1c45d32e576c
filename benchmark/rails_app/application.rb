# frozen_string_literal: true

# The application of `bin/bench refork`: a Rails application on SQLite in the server's folder, set
# up as in production: all classes loaded before the fork, little logging, a cache in memory.
# Each worker itself creates what only requests create: compiled views, attribute methods, route
# helpers, translations, inline caches.
#
#   RailsApp.boot           # in the parent, once: the Rack application
#   RailsApp.part           # before a fork: closes the connections
ENV["RAILS_ENV"] = "production"
require "rails"
require "active_record/railtie"
require "action_controller/railtie"
require "action_view/railtie"
require "sqlite3"
require_relative "../server/programs/worker_app"
require_relative "sources"

module RailsApp
  MODELS = WorkerApp::WISHES.fetch("models")
  DATABASE = <<~YAML
    production:
      adapter: sqlite3
      database: #{WorkerApp::FOLDER}/shop.sqlite3
      timeout: 10000
      default_transaction_mode: immediate
      reaping_frequency: null
  YAML

  class Application < Rails::Application
    config.root = WorkerApp::FOLDER
    config.load_defaults 7.0
    config.eager_load = true
    config.secret_key_base = "none"
    config.logger = Logger.new($stderr)
    config.log_level = :error
    config.cache_store = :memory_store, { size: 4_000_000 }
    config.action_controller.perform_caching = true
    config.i18n.available_locales = %i[en de fr]
    config.i18n.fallbacks = true
  end

  class << self
    def boot
      write unless File.exist?("config/database.yml")
      Application.initialize!
      draw(Sources.names(MODELS).map { |name| "#{name.downcase}s" })
      part
      Application
    end

    def part = ActiveRecord::Base.connection_handler.clear_all_connections!(:all)

    private

    # A program that is started again finds all there.
    def write
      Sources.write(WorkerApp::FOLDER, MODELS)
      fill
      File.write("config/database.yml", DATABASE)
    end

    # Uses SQLite directly, so that Active Record stays as cold as after any boot. The journal mode
    # is Active Record's: to change it takes an exclusive lock, and of two workers that connect at
    # the same time one would fail at once.
    def fill
      database = SQLite3::Database.new("#{WorkerApp::FOLDER}/shop.sqlite3")
      database.execute("PRAGMA journal_mode = WAL")
      database.execute_batch(Sources.schema(MODELS))
      database.close
    end

    def draw(many)
      Application.routes.draw do
        many.each do |each|
          resources(each, only: %i[index show]) do
            %i[search data].each { |action| get(action, on: :collection) }
            get(:buy, on: :member)
          end
        end
        root to: "#{many.first}#index"
      end
    end
  end
end
