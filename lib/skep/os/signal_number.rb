# frozen_string_literal: true

module Skep
  module OS
    # A signal's number, whatever way it is named.
    #
    #   SignalNumber.of(15)        # => 15
    #   SignalNumber.of("SIGTERM") # => 15, as of "TERM" and :TERM
    #   SignalNumber.of("TREM")    # ArgumentError
    module SignalNumber
      #: (Integer | String | Symbol) -> Integer
      def self.of(signal)
        return signal if signal.is_a?(Integer)

        Signal.list.fetch(signal.to_s.delete_prefix("SIG")) do
          raise ArgumentError, "unknown signal #{signal.inspect}: `kill -l` lists them"
        end
      end
    end
    private_constant :SignalNumber
  end
end
