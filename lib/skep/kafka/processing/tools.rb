# frozen_string_literal: true

# What the parts of one group member share.
#
#   tools = Processing::Tools.new(options:, child:, report:, consumer:, scheduler:,
#                                 exclusive_lock:, dead_letter:, lease:)
#   tools.metrics = Metrics::ConsumerMetrics.new(tools)
#   tools.outputs = Producer::HandlerProducers.new(tools)
module Skep
  module Kafka
    module Processing
      Tools = Struct.new(:options, :child, :report, :consumer, :scheduler, :exclusive_lock,
                         :dead_letter, :lease, :metrics, :outputs, keyword_init: true)
    end
  end
end
