# frozen_string_literal: true

# Adds the options under `config.skep`, and Active Job's adapter as soon as Active Job is loaded.
#
# | config.skep. | default | |
# |---|---|---|
# | kafka | {} | librdkafka's settings, under its names |
# | prefix | "jobs." | how the names of all topics of jobs begin |
# | group | "jobs" | the consumer group of all nodes that run jobs |
# | delays | 5, 60, 600, 7200 | seconds; delayed jobs wait in a topic for each (DelayTopics) |
# | enqueue_timeout | 10 | seconds until a job that Kafka hasn't acknowledged is an error |
module Skep
  module Rails
    class Railtie < ::Rails::Railtie
      config.skep = ActiveSupport::OrderedOptions[
        kafka: {}, prefix: "jobs.", group: "jobs", delays: [5, 60, 600, 7200], enqueue_timeout: 10
      ]

      Swarm::Processes::RailsHook.rails = Rails
      ActiveSupport.on_load(:active_job) { require "active_job/queue_adapters/skep_adapter" }
    end
  end
end
