# frozen_string_literal: true

require "skep"
require "skep/kafka"

# What `bin/demo` is made of, in reading order.
module Skep
  module Demo
    # The demo can't continue; the message is the sentence to print.
    class Failed < Skep::Error
    end
  end
end

require_relative "topic"
require_relative "plan"
require_relative "ledgers"
require_relative "nodes"
require_relative "swarm_process"
require_relative "result"
require_relative "progress"
require_relative "runner"
