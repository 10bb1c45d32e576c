# frozen_string_literal: true

# `skep kafka`: its settings and its embedded broker.
module Skep
  module CLI
    module Kafka
    end
  end
end

require "skep/cli/kafka/cluster_settings"
require "skep/cli/kafka/embedded_broker_run"
