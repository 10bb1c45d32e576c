# frozen_string_literal: true

require "json"
require "skep/redaction"
require "skep/swarm"

# The control socket: a UNIX socket over which a running swarm answers commands and sends its
# events. Server is the supervisor's end, Client the other. Requiring this file gives each swarm a
# control socket.
module Skep
  module Control
    # The version of the protocol, in each answer of `status`.
    VERSION = 1

    # Returns facts as a line for the socket.
    def self.line(**facts)
      facts = { v: VERSION, **facts }
      "#{JSON.generate(facts, max_nesting: 0)}\n"
    rescue JSON::GeneratorError # a node has sent 1e999, which is read as infinity
      "#{JSON.generate(Swarm::IPC::PlainData.of(facts), max_nesting: 0)}\n"
    end
  end
end

require "skep/control/errors"
require "skep/control/command_handler"
require "skep/control/event_history"
require "skep/control/series_history"
require "skep/control/session"
require "skep/control/server"
require "skep/control/answer"
require "skep/control/connection"
require "skep/control/request"
require "skep/control/event_gap"
require "skep/control/event_text"
require "skep/control/event_stream"
require "skep/control/client"
require "skep/control/poll_limit"
require "skep/control/process_sampler"
require "skep/control/profile"
require "skep/control/speedscope"

Skep::Swarm.watch_with { Skep::Control::Server.new }
