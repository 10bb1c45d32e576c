# frozen_string_literal: true

require "rbconfig"
require "skep/cli/tell"

# `skep upgrade [NAME]`: the supervisor goes on as the program that asks for it: this skep, on this
# Ruby.
module Skep
  module CLI
    class Upgrade < Tell
      PURPOSE = "let the supervisor go on as this skep, on this Ruby; no node is touched"
      USAGE = "skep upgrade [NAME]"
      COMMAND = "upgrade"
      EXAMPLES = ["gem update skep && skep upgrade billing"].freeze

      private

      def tell(path)
        pid, skep, ruby = super.values_at("pid", "skep", "ruby")
        out.puts(Text.clean("pid #{pid}: skep #{skep} (ruby #{ruby})"))
      end

      # It takes as long as a Ruby takes to start, twice.
      def facts
        file = File.expand_path($PROGRAM_NAME)
        { seconds: nil, program: ([RbConfig.ruby, file] if File.file?(file)) }
      end
    end
  end
end
