# frozen_string_literal: true

require "json"
require "time"

# Formats an event as a line of JSON.
#
#   JsonFormatter.format(time, mono, "node_died", :warn, node: 0)
#   # => "{\"time\":\"…\",\"mono\":1234.5,\"level\":\"warn\",\"event\":\"node_died\",\"node\":0}\n"
module Skep
  module Log
    module JsonFormatter
      # mono: the monotonic clock, which is the same in all processes of the host.
      def self.format(time, mono, name, level, facts)
        facts = { time: time.iso8601(6), mono: mono.round(6), level:, event: name, **facts }
        "#{JSON.generate(Swarm::IPC::PlainData.of(facts))}\n"
      end
    end
  end
end
