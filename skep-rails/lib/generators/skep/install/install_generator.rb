# frozen_string_literal: true

# `rails generate skep:install`: writes what a Rails application needs to be run by skep. What is
# there already stays as it is, so that it may be run again.
#
#   config/skep.rb                 # the swarm: what `bin/skep run config/skep.rb` runs
#   config/initializers/skep.rb    # what Kafka is, and what topics and group of jobs are called
#   bin/skep                       # skep, with the application's gems
#   Procfile.dev                   # a line more, where there is one
#
# An application without Active Job gets a swarm without work: `rails generate skep:consumer` adds
# some.
require "rails/generators"
require_relative "../application_name"

module Skep
  # `rails generate` looks here.
  module Generators
    # Of `rails generate skep:install`.
    class InstallGenerator < ::Rails::Generators::Base
      include ApplicationName

      desc "Writes the swarm of this application, config/skep.rb, and what belongs to it"
      source_root File.expand_path("templates", __dir__)

      RUN = "bin/skep run config/skep.rb"
      CONSUMER = "bin/rails generate skep:consumer orders --model Order, for a topic of yours"
      private_constant :RUN, :CONSUMER

      def write_swarm
        template "skep.rb.tt", "config/skep.rb", skip: true
      end

      def write_initializer
        template "initializer.rb.tt", "config/initializers/skep.rb", skip: true
      end

      def write_binstub
        template "bin.tt", "bin/skep", skip: true
        chmod "bin/skep", 0o755 & ~File.umask, verbose: false
      end

      def add_to_procfile
        procfile = File.join(destination_root, "Procfile.dev")
        return unless File.file?(procfile) && !File.read(procfile).include?("bin/skep")

        text = File.read(procfile)
        append_to_file procfile, "#{"\n" unless text.empty? || text.end_with?("\n")}skep: #{RUN}\n"
      end

      def say_what_is_next
        adapter = "let Active Job use it: config.active_job.queue_adapter = :skep in " \
                  "config/application.rb"
        steps = ["name your brokers in config/initializers/skep.rb", *(adapter if jobs?), CONSUMER,
                 "bin/skep check config/skep.rb", RUN]
        say "\nNext:\n#{steps.map { |step| "  - #{step}\n" }.join}"
      end

      private

      def jobs? = defined?(::ActiveJob::Railtie) ? true : false
    end
  end
end
