# frozen_string_literal: true

# What those who serve one membership share, so that none has to be told of six others.
#
#   tools = Processing::Tools.new(options:, child:, report:, consumer:, scheduler:, exclusive_lock:,
#                     dead_letter:, leeway:, lease:)
#   tools.metrics = Metrics::ConsumerMetrics.new(tools)
#   tools.outputs = Producer::HandlerProducers.new(options:, child:, consumer:, report:)
module Skep
  module Kafka
    module Processing
      Tools = Struct.new(:options, :child, :report, :consumer, :scheduler, :exclusive_lock, :dead_letter, :leeway,
                         :lease, :metrics, :outputs,
                         keyword_init: true)
    end
  end
end
