# frozen_string_literal: true

# How the swarm stands, asked of the supervisor when somebody wants to know, and at no other time.
#
#   facts = Facts.new(line)
#   facts.now          # => Hash as in `skep status --json`; raises Silent
#   facts.took         # => seconds the last answer took
#
# However many ask at a time, the supervisor is asked ten times a second at most. May be called from
# any thread.
module Skep
  module Watch
    module Metrics
      class Facts
        SECONDS = 2.0 # for an answer
        FRESH = 0.1
        private_constant :SECONDS, :FRESH

        # The supervisor doesn't answer.
        class Silent < Skep::Error
          def initialize = super("the supervisor didn't answer within #{SECONDS.round} s")
        end

        attr_reader :took #: Float

        def initialize(line) #: (Swarm::Processes::SupervisorQuery) -> void
          @line = line
          @lock = Mutex.new
          @took = 0.0
          @at = nil
        end

        def now #: () -> Hash[String, untyped]
          @lock.synchronize do
            ask unless @at && OS.now - @at < FRESH
            @last || raise(Silent)
          end
        end

        private

        def ask
          began = OS.now
          @last = Redaction.of(@line.ask(SECONDS))
          @at = OS.now
          @took = @at - began
        end
      end
    end
  end
end
