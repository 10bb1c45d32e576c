# frozen_string_literal: true

# The application of `skep bench refork`: a Rails application on SQLite, in the keeper's folder, as
# in production: all classes loaded before the fork, logging little, caching in memory. What it gets
# warm only by working (compiled views, attribute methods, routes' helpers, words, inline caches) it
# gets in each worker by itself.
#
#   Shop.boot           # in the parent, once: the Rack application
#   Shop.part           # before a fork: no connection goes into a child
ENV["RAILS_ENV"] = "production"
require "rails"
require "active_record/railtie"
require "action_controller/railtie"
require "action_view/railtie"
require "sqlite3"
require_relative "../errand"
require_relative "sources"

module Shop
  MODELS = Errand::WISHES.fetch("models")
  DATABASE = <<~YAML
    production:
      adapter: sqlite3
      database: #{Errand::FOLDER}/shop.sqlite3
      timeout: 10000
      default_transaction_mode: immediate
      reaping_frequency: null
  YAML

  class Application < Rails::Application
    config.root = Errand::FOLDER
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
    def boot #: () -> Rails::Application
      Sources.write(Errand::FOLDER, MODELS)
      fill
      File.write("config/database.yml", DATABASE)
      Application.initialize!
      draw(Sources.names(MODELS).map { |name| "#{name.downcase}s" })
      part
      Application
    end

    def part = ActiveRecord::Base.connection_handler.clear_all_connections!(:all) #: () -> void

    private

    # By SQLite alone: Active Record stays as cold as after any boot. With its journal as Active
    # Record wants it: to switch that asks for the file alone, and of two workers who connect at
    # the same time one would be refused, without any wait.
    def fill
      database = SQLite3::Database.new("#{Errand::FOLDER}/shop.sqlite3")
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
