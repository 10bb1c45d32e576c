# frozen_string_literal: true

# Raised when this system, or the Ruby twin, can't do what was asked.
#
#   raise Skep::OS::Unsupported.new(what: "watching process 42", because: "it is no child of ours")
module Skep
  module OS
    class Unsupported < Error
      #: (what: String, because: String) -> void
      def initialize(what:, because:)
        super("#{what} isn't possible here, as #{because}: on Linux build skep's C extension " \
              "(skep/skep_ext) and unset SKEP_PURE")
      end
    end
  end
end
