# frozen_string_literal: true

# All that `skep demo` is made of, in reading order. Loaded when it runs: `skep run` stays small
# without it.
require "skep/kafka"

require "skep/cli/demo/words"
require "skep/cli/demo/orders"
require "skep/cli/demo/plan"
require "skep/cli/demo/account"
require "skep/cli/demo/production"
require "skep/cli/demo/brokers"
require "skep/cli/demo/folder"
require "skep/cli/demo/interrupts"
require "skep/cli/demo/running_swarm"
require "skep/cli/demo/roster"
require "skep/cli/demo/kills"
require "skep/cli/demo/pace"
require "skep/cli/demo/verdict"
require "skep/cli/demo/scene"
require "skep/cli/demo/silence"
require "skep/cli/demo/lines"
require "skep/cli/demo/frame"
require "skep/cli/demo/table"
require "skep/cli/demo/trial"
