# frozen_string_literal: true

require "json"
require "io/console"

# `skep top`: an App draws on a Terminal what a Poller fetches from the swarm. The lines are a pure
# function of a Model and a size: see Renderer.
module Skep
  module CLI
    module Top
    end
  end
end

require "skep/cli/top/styler"
require "skep/cli/top/model"
require "skep/cli/top/node_table"
require "skep/cli/top/header"
require "skep/cli/top/pager"
require "skep/cli/top/renderer"
require "skep/cli/top/terminal"
require "skep/cli/top/key_parser"
require "skep/cli/top/poller"
require "skep/cli/top/key_bindings"
require "skep/cli/top/app"
