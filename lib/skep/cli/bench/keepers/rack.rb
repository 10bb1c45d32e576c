# frozen_string_literal: true

# The application of the web servers: a request that never ends.
require_relative "errand"

BUSY = lambda do |_env|
  Errand.busy
  [200, {}, []]
end
