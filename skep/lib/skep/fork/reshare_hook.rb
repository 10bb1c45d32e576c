# frozen_string_literal: true

module Skep
  module Fork
    # Where the gem skep-reshare plugs in, for `reshare: true` of Skep.warmup and of a swarm. The
    # rest of skep knows the option, but not what the gem does.
    module ReshareHook
      FEATURE = "skep/reshare"
      private_constant :FEATURE

      class << self
        # Called by FEATURE when it is loaded, with an object that responds to `installed?` and
        # `step`, the outcome of a warmup's step: { note: } or { skipped: }.
        attr_writer :sharing

        # Returns why it can't be loaded, as a list. It isn't loaded: that changes the process.
        def errors
          return [] if Plugin.find("reshare")

          ["reshare needs the gem skep-reshare, which isn't installed: add it to the Gemfile"]
        end

        def load = require(FEATURE)

        # Returns the options of a Ruby that loads it before everything else.
        def command_line = ["-r#{FEATURE}"]

        # Returns true if it is loaded, and works on this Ruby.
        def installed? = @sharing ? @sharing.installed? : false

        def step = @sharing ? @sharing.step : { skipped: "#{FEATURE} wasn't required" }
      end
    end
  end
end
