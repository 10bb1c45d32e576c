# frozen_string_literal: true

# Loads the C of ext/skep over the fallbacks, unless SKEP_PURE=1 or it was never built.
#
#   Skep::OS.native?   # => true when it was loaded
#
# An extension which is there but doesn't load (another Ruby's, a missing symbol) is told, once:
# the fallbacks then do the work.
module Skep
  module OS
    # Is the C extension at work? On an old kernel single parts may still be Ruby: Pidfd.native?.
    #
    #: () -> bool
    def self.native? = @native

    # Loads a part of the extension; is it at work?
    #
    #: (String feature, ?Hash[String, String]) -> bool
    def self.__load(feature, env = ENV)
      return false if env["SKEP_PURE"] == "1"

      require feature
      true
    rescue LoadError => error
      # Not built is fine, as the fallbacks are complete; broken is worth a word.
      warn("skep: the C extension doesn't load, so Ruby does its work: #{error.message}") if
        error.path != feature
      false
    end

    @native = __load("skep/skep_ext")
  end
end
