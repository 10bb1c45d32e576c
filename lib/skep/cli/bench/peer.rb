# frozen_string_literal: true

# Another gem that is measured beside skep: found, and never loaded in this process.
#
#   peer = Peer.find("pid_cache")    # nil when it isn't installed
#   peer.version                     # => "0.1.0"
#   peer.flags                       # => ["-I", ".../lib"], for the Ruby that is to load it
#   Peer.missing("pid_cache")        # => the sentence that says what to install
module Skep
  module CLI
    class Bench
      Peer = Struct.new(:name, :version, :paths, keyword_init: true)

      class Peer
        # Under Bundler only what is in the bundle is found.
        def self.find(name) #: (String) -> Peer?
          spec = Gem::Specification.find_by_name(name)
          new(name:, version: spec.version.to_s, paths: paths(spec).uniq)
        rescue Gem::LoadError # not there, or its requirements aren't
          nil
        end

        # Its own, and those of what it needs.
        def self.paths(spec)
          needed = spec.runtime_dependencies.filter_map do |dependency|
            dependency.to_spec
          rescue Gem::LoadError # what Ruby itself brings may lack one
            nil
          end
          spec.full_require_paths + needed.flat_map { |each| paths(each) }
        end
        private_class_method :paths

        def self.missing(name) #: (String) -> String
          "the gem #{name} isn't in reach: `gem install #{name}`, or in a checkout of skep " \
            "`bin/setup bench` and `bundle exec skep bench`"
        end

        # For Contender's version.
        def to_s = "#{name} #{version}" #: () -> String

        # For Program.run.
        def flags = paths.flat_map { |path| ["-I", path] } #: () -> Array[String]
      end
    end
  end
end
