# frozen_string_literal: true

# skep keeps a swarm of forked processes alive and productive. This file wires all rooms; each can
# be required alone ("skep/os", "skep/fork", "skep/threads", "skep/swarm", "skep/work",
# "skep/watch"). Start reading at docs/design.md.
module Skep
end

require "skep/os"
require "skep/fork"
require "skep/threads"
require "skep/swarm"
require "skep/work"
require "skep/watch"

require "skep/rails" if defined?(::Rails::Railtie)
