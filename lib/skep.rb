# frozen_string_literal: true

# skep keeps a swarm of forked processes alive and productive. This file wires all components;
# each can be required alone ("skep/os", "skep/fork", "skep/threads", "skep/swarm", "skep/work",
# "skep/log", "skep/control", "skep/systemd", "skep/metrics").
# Start reading at docs/internals/architecture.md.
module Skep
end

require "skep/os"
require "skep/fork"
require "skep/threads"
require "skep/swarm"
require "skep/work"
require "skep/log"
require "skep/control"
require "skep/systemd"
require "skep/metrics"

require "skep/rails" if defined?(::Rails::Railtie)
