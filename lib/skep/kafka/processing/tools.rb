# frozen_string_literal: true

# What those who serve one membership share, so that none has to be told of six others.
#
#   tools = Processing::Tools.new(options:, child:, report:, consumer:, desk:, gate:,
#                     dead_letter:, leeway:, lease:)
#   tools.meter = Metrics::ConsumerMetrics.new(tools)
#   tools.outputs = Producer::HandlerProducers.new(tools)
module Skep
  module Kafka
    module Processing
      Tools = Struct.new(:options, :child, :report, :consumer, :desk, :gate, :dead_letter, :leeway,
                         :lease, :meter, :outputs,
                         keyword_init: true)
    end
  end
end
