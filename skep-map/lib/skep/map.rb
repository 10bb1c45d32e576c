# frozen_string_literal: true

# Skep.map, Skep.each and their like. `require "skep"` loads them, too, if this gem is there.
require "skep/work"
