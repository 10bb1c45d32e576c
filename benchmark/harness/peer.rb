# frozen_string_literal: true

# Another gem that is compared with skep. It is located, but never loaded in this process.
#
#   peer = Peer.find("pid_cache")    # nil if it isn't installed
#   peer.version                     # => "0.1.0"
#   peer.flags                       # => ["-I", ".../lib"], for the Ruby that is to load it
#   Peer.missing("pid_cache")        # => a sentence with what to install
module Skep
  module Benchmarks
    Peer = Struct.new(:name, :version, :paths, keyword_init: true)

    class Peer
      # Under Bundler only gems of the bundle are found.
      def self.find(name)
        spec = Gem::Specification.find_by_name(name)
        new(name:, version: spec.version.to_s, paths: paths(spec).uniq)
      rescue Gem::LoadError # it or a dependency isn't installed
        nil
      end

      # Returns its load path and those of its dependencies.
      def self.paths(spec)
        needed = spec.runtime_dependencies.filter_map do |dependency|
          dependency.to_spec
        rescue Gem::LoadError # a default gem may have none
          nil
        end
        spec.full_require_paths + needed.flat_map { |each| paths(each) }
      end
      private_class_method :paths

      def self.missing(name)
        "the gem #{name} isn't in reach: `bin/bench` installs it"
      end

      # The version for Subject.
      def to_s = "#{name} #{version}"

      # The flags for Program.run.
      def flags = paths.flat_map { |path| ["-I", path] }
    end
  end
end
