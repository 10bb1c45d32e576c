# frozen_string_literal: true

module Skep
  module OS
    class Page
      # Raised by the use of a page after its close.
      class Closed < Error
        #: (?String message) -> void
        def initialize(message = "the page is closed: keep it open as long as anybody beats")
          super
        end
      end
    end
  end
end
