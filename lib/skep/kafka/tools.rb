# frozen_string_literal: true

# What those who serve one membership share, so that none has to be told of six others.
#
#   tools = Tools.new(options:, child:, report:, consumer:, desk:, gate:,
#                     dead_letter:, leeway:, lease:)
#   tools.meter = Meter.new(tools)
#   tools.outputs = Outputs.new(tools)
module Skep
  module Kafka
    Tools = Struct.new(:options, :child, :report, :consumer, :desk, :gate, :dead_letter, :leeway,
                       :lease, :meter, :outputs,
                       keyword_init: true)
    private_constant :Tools
  end
end
