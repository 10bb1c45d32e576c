# frozen_string_literal: true

# skep in a Rails application: its code is loaded once, before the fork; handlers run as a request
# does, with code reloaded, connections given back and errors reported; Active Job's jobs may go
# through Kafka. `gem "skep"` brings it along; docs/rails.md shows how.
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
# Of Rails it changes nothing. It needs Rails 7.2 or newer, and for jobs the gem karafka-rdkafka.
require "rails"
require "active_support/fork_tracker"
require "skep/swarm"
require "skep/rails/errors"

module Skep
  module Rails
    # Work for `swarm.work`: does the jobs of these queues. threads: how many at a time in a node;
    # job_timeout: how long one may take, in seconds. See Jobs for the rest.
    #
    #: (*String, ?threads: Integer, ?job_timeout: Numeric, **untyped) -> Jobs
    def self.jobs(*queues, **options)
      raise NoApplication unless ::Rails.application&.initialized?

      require "skep/rails/queues"
      Jobs.new(queues, **options)
    end

    # What a Rails application was told about skep: `config.skep`.
    #
    #: () -> ActiveSupport::OrderedOptions
    def self.config = (::Rails.application || raise(NoApplication)).config.skep

    # Rails gives up connections in a child by a hook of its own, which may come after skep's: what
    # is registered from here on finds a child without its parent's connections.
    Skep.on_fork(child: -> { ActiveSupport::ForkTracker.after_fork_callback })
  end
end

require "skep/rails/handler"
require "skep/rails/railtie"
