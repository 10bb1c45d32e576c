# frozen_string_literal: true

# Runs skep in a Rails application. The application is loaded once, before the fork. Handlers run
# in Rails' executor, as requests do. Active Job's jobs may go through Kafka. docs/guides/rails.md
#
#   # config/skep.rb, which `rails generate skep:install` writes
#   require_relative "boot"
#   require "skep/rails"
#   require_relative "environment"
#
#   Skep.swarm "shop", nodes: 4 do |swarm|
#     swarm.work Skep::Rails.jobs("default", "mailers", threads: 3)
#   end
#
# It patches nothing of Rails. It needs Rails 7.2 or newer.
require "rails"
require "active_support/fork_tracker"
require "skep/error_place"
require "skep/swarm"
require "skep/rails/errors"

module Skep
  ErrorPlace.add(File.expand_path("..", __dir__))

  module Rails
    # A source for `swarm.work` that runs the jobs of these queues. threads: how many at a time in a
    # node; job_timeout: how long one may take, in seconds. See JobSource for the other options.
    def self.jobs(*queues, **options)
      raise ApplicationNotLoaded unless ::Rails.application&.initialized?

      require "skep/rails/job_queues"
      JobSource.new(queues, **options)
    end

    # The application's options, `config.skep`.
    def self.config = (::Rails.application || raise(ApplicationNotLoaded)).config.skep

    # Rails discards a parent's connections in a child by a hook of its own, which may run after
    # skep's. Run it here, so that callbacks registered later never see a parent's connection.
    Skep.on_fork(child: -> { ActiveSupport::ForkTracker.after_fork_callback })
  end
end

require "skep/rails/executor_handler"
require "skep/rails/railtie"
