# frozen_string_literal: true

require "skep/plugin"

# The command `skep web`.
module Skep
  class Web
    class Plugin < Skep::Plugin
      def command
        require "skep/web/command"
        Command
      end
    end
  end
end

Skep::Plugin.add("web", Skep::Web::Plugin.new)
