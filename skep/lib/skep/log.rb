# frozen_string_literal: true

require "skep/plugin"
require "skep/redaction"
require "skep/swarm"

# The log: a line for each event of a swarm, to stdout, a file or systemd's journal; and the names
# of all events. Requiring this file makes each swarm log.
module Skep
  module Log
  end
end

require "skep/log/errors"
require "skep/log/event_catalog"
require "skep/log/nonblocking_writer"
require "skep/log/stream_writer"
require "skep/log/datagram_writer"
require "skep/log/text_formatter"
require "skep/log/json_formatter"
require "skep/log/journal_formatter"
require "skep/log/journal"
require "skep/log/event_log"
require "skep/log/active_support_bridge"

Skep::Swarm.watch_with { Skep::Log::EventLog.new }
Skep::Swarm.pass_on_with(Skep::Log::ActiveSupportBridge)
