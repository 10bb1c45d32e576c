# frozen_string_literal: true

require "skep/secrets"
require "skep/swarm"

# The watch room: what outsiders see of a swarm.
# Loading it makes every swarm log and answer on its status socket.
module Skep
  module Watch
  end
end

require "skep/watch/redaction"
require "skep/watch/outlet"
require "skep/watch/post"
require "skep/watch/wording"
require "skep/watch/journal"
require "skep/watch/journal_entry"
require "skep/watch/log"
require "skep/watch/commands"
require "skep/watch/status"
require "skep/watch/connection"
require "skep/watch/answer"
require "skep/watch/feed"
require "skep/watch/query"
require "skep/watch/standing"
require "skep/watch/watchdog"
require "skep/watch/notify"
require "skep/watch/question"
require "skep/watch/metrics"
require "skep/watch/events"
require "skep/watch/notifications"

Skep::Swarm.watch_with { Skep::Watch::Log.new }
Skep::Swarm.watch_with { Skep::Watch::Status.new }
Skep::Swarm.watch_with { Skep::Watch::Notify.new }
Skep::Swarm.watch_with { Skep::Watch::Metrics::Door.new }
Skep::Swarm.serve_with(Skep::Watch::Metrics)
Skep::Swarm.pass_on_with(Skep::Watch::Notifications)
