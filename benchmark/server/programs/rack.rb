# frozen_string_literal: true

# The application of the web servers: a request that never ends.
require_relative "worker_app"

BUSY = lambda do |_env|
  WorkerApp.busy
  [200, {}, []]
end
