# frozen_string_literal: true

# What Rails asks of a gem: options under `config.skep`, and the adapter of Active Job, which is
# there as soon as Active Job is.
#
# | config.skep. | default | |
# |---|---|---|
# | kafka | {} | librdkafka's settings, under its names |
# | prefix | "jobs." | what the names of all topics of jobs begin with |
# | group | "jobs" | the consumer group of all nodes that do jobs |
# | delays | 5, 60, 600, 7200 | seconds; jobs for later wait in a topic for each (Delays) |
# | enqueue_timeout | 10 | seconds until a job that Kafka didn't take is an error |
module Skep
  module Rails
    class Railtie < ::Rails::Railtie
      config.skep = ActiveSupport::OrderedOptions[
        kafka: {}, prefix: "jobs.", group: "jobs", delays: [5, 60, 600, 7200], enqueue_timeout: 10
      ]

      Swarm.run_with(->(source, child, handler) { Rails.run(source, child, handler) })
      ActiveSupport.on_load(:active_job) { require "active_job/queue_adapters/skep_adapter" }
    end
  end
end
