# frozen_string_literal: true

module Verdicts
  # A fault that a life plants.
  #
  #   fault = Fault.new(kind: "half_gone", count: 2, node: 1, seconds: 8.0, sharded: true)
  #   fault.cause   # => :dependency
  #
  # count: bad messages. node: the index of the node that falls ill. seconds: how long the
  # dependency is unavailable. sharded: a message always asks the same of its hosts; else each call
  # any of them.
  Fault = Struct.new(:kind, :count, :node, :seconds, :sharded, keyword_init: true) do
    def self.random(kind, random)
      new(kind:, count: random.rand(1..3), node: random.rand(100), seconds: random.rand(6.0..15.0),
          sharded: random.rand < 0.5)
    end

    def cause = CAUSES.find { |_, kinds| kinds.include?(kind) }.first

    # Returns true if a bad message ends its node, so that it is quarantined, not retried.
    def ends_nodes? = %w[crashes hangs].include?(kind)

    # What the dependency's hosts do.
    def hosts
      { "refuses" => %w[refuse] * 4, "silent" => %w[silent] * 4, "slow" => %w[slow] * 4,
        "half_gone" => %w[refuse refuse answer answer],
        "half_silent" => %w[silent silent answer answer] }.fetch(kind)
    end
  end

  CAUSES = {
    message: %w[raises overflows crashes hangs],
    process: %w[no_descriptors no_threads lost_lock drained_pool poisoned_cache],
    dependency: %w[refuses silent slow half_gone half_silent]
  }.freeze
  KINDS = CAUSES.values.flatten.freeze
end
