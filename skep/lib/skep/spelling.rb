# frozen_string_literal: true

module Skep
  # Finds what a misspelt name was meant to be.
  #
  #   Spelling.nearest("max_attempt", %i[max_attempts topics])   # => "max_attempts"
  #   Spelling.hint("max_attempt", %i[max_attempts])   # => " (did you mean max_attempts?)"
  module Spelling
    module_function

    # Returns the name that is spelt most like the word, as a String; nil if none is near.
    def nearest(word, names)
      require "did_you_mean/spell_checker"
      DidYouMean::SpellChecker.new(dictionary: names.map(&:to_s)).correct(word.to_s).first
    rescue LoadError # a Ruby without the gem did_you_mean
      nil
    end

    # Returns what an error says about that name, "" if none is near.
    def hint(word, names) = nearest(word, names)&.then { |near| " (did you mean #{near}?)" }.to_s
  end
end
