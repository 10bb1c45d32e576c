# frozen_string_literal: true

module Skep
  # What an exception is extended with that the block of Skep.map raised.
  #
  #   rescue KeyError => e
  #     e.skep_item; e.skep_index    # the item that the block was called with, and its place
  module AtItem
    LONGEST = 80
    private_constant :LONGEST

    attr_reader :skep_item  #: untyped, which the block was called with
    attr_reader :skep_index #: Integer, its place among the items, from 0

    # A frozen exception stays as it is.
    #
    #: (Exception, untyped item, Integer index) -> Exception
    def self.mark(error, item, index)
      return error if error.frozen?

      error.extend(self)
      error.instance_variable_set(:@skep_item, item)
      error.instance_variable_set(:@skep_index, index)
      error
    end

    # An item in a sentence, on one line.
    #
    #: (untyped item, Integer index) -> String
    def self.describe(item, index)
      text = item.inspect.scrub.tr("\n", " ")
      text = "#{text[0, LONGEST]}…" if text.size > LONGEST
      "item #{index} (#{text})"
    end
  end
end
