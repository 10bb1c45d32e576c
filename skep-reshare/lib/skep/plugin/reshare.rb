# frozen_string_literal: true

require "skep/plugin"

# Shows that the gem skep-reshare is there, and loads nothing of it: it adds an option's effect (see
# Skep::Fork::ReshareHook), but no command and no kind of work.
Skep::Plugin.add("reshare", Skep::Plugin.new)
