# frozen_string_literal: true

module Skep
  # The options with which a new Ruby loads this very skep: the folder of its files. In a checkout
  # skep's other gems lie beside it, and a Ruby without Bundler finds them only there. An installed
  # gem finds the others, of the same version, by RubyGems.
  module LibraryOptions
    LIBRARY = File.expand_path("..", __dir__)
    SIBLINGS = %r{\A#{Regexp.escape(File.expand_path("../..", LIBRARY))}/skep-[a-z]+/lib\z}
    private_constant :LIBRARY, :SIBLINGS

    def self.to_a = [LIBRARY, *$LOAD_PATH.grep(SIBLINGS)].uniq.flat_map { |path| ["-I", path] }
  end
end
