# frozen_string_literal: true

require "skep/log"
require "skep/redaction"
require "skep/swarm"

# Notifies systemd of a swarm's state, by sd_notify(3), and pings its watchdog,
# if systemd asks for it. Requiring this file makes each swarm do so.
module Skep
  module Systemd
  end
end

require "skep/systemd/status_line"
require "skep/systemd/watchdog"
require "skep/systemd/notifier"

Skep::Swarm.watch_with { Skep::Systemd::Notifier.new }
