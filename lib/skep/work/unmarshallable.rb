# frozen_string_literal: true

module Skep
  # Raised by Skep.map when an item or a result can't go from one process to another.
  class Unmarshallable < Error
    attr_reader :index #: Integer, the item's place, from 0

    #: (what: String, index: Integer, because: String, instead: String) -> void
    def initialize(what:, index:, because:, instead:)
      @index = index
      super("#{what} can't go from one process to another (#{because}): #{instead}")
    end
  end
end
