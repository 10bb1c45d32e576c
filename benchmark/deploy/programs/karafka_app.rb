# frozen_string_literal: true

# The application of `karafka swarm` as in benchmark/faults, with the Rails application loaded
# before the fork.
require_relative "handler"

Shop.boot
require_relative "../../faults/programs/karafka_app"

class Worker
  private

  def handle(payload) = Shop.call(payload)
end
