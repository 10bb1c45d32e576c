# frozen_string_literal: true

module Skep
  # Raised in the block of Skep.map, it ends the map early, as `break` would that of an Array: map
  # returns the value given, nil without one. What others are at is finished, nothing new is begun.
  #
  #   Skep.each(urls) { |url| raise Skep::Stop, url if found?(url) }   # => the url
  #
  # No StandardError: a block that rescues its errors doesn't swallow it.
  class Stop < Exception # rubocop:disable Lint/InheritException -- as above
    attr_reader :value #: untyped

    #: (?untyped value) -> void
    def initialize(value = nil)
      @value = value
      super("raised outside the block of a map")
    end
  end
end
