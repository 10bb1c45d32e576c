# frozen_string_literal: true

require "skep/watch"
require "skep/watch/web"

# `require "skep/web"`: the page of running swarms as a Rack application, for config.ru or Rails
# (docs/web.md). It needs no gem, and no part of `require "skep"` needs it.
module Skep
  Web = Watch::Web
end
