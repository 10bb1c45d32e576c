# frozen_string_literal: true

module Skep
  # Requires files of gems that needn't be there.
  #
  #   OptionalGem.try_require("skep/rails")   # => nil, or the LoadError that says why it can't be
  module OptionalGem
    # The file's gem isn't there; or RubyGems refuses it, because it lacks a gem that it depends on,
    # or is for another version of skep. Any other LoadError is raised.
    def self.try_require(feature)
      require feature
      nil
    rescue LoadError => e
      refused = defined?(::Gem::LoadError) && e.is_a?(::Gem::LoadError)
      raise unless refused || e.path == feature

      e
    end
  end
end
