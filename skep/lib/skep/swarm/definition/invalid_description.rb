# frozen_string_literal: true

# A call such as `swarm.work("orders")`, without a source or a block, can't describe a swarm. Its
# backtrace begins at the user's line, as that is to be changed.
#
#   InvalidDescription.refuse("work takes …")
module Skep
  class Swarm
    module Definition
      class InvalidDescription < Skep::Error
        OURS = File.expand_path("../../..", __dir__).concat("/").freeze # lib
        private_constant :OURS

        def self.refuse(sentence)
          raise self, sentence, caller.drop_while { |line| line.start_with?(OURS, "<internal:") }
        end

        def exit_code = ExitCode::CONFIGURATION
      end
    end
  end
end
