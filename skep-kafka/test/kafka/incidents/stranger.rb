# frozen_string_literal: true

module Incidents
  # A member of a swarm's group that isn't skep's. It takes part as long as `assigned?` is called:
  # then its client sends heartbeats only, and the next rebalance waits for it.
  class Stranger
    def initialize(bootstrap, group)
      require "rdkafka"
      @consumer = Rdkafka::Config.new("bootstrap.servers" => bootstrap,
"group.id" => group).consumer
      @consumer.subscribe(group) # the topic has the group's name
    end

    def assigned?
      @consumer.poll(100)
      !@consumer.assignment.empty?
    end

    def close = @consumer.close
  end
end
