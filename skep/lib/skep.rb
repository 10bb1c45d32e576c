# frozen_string_literal: true

# skep keeps a swarm of forked processes alive and productive. This file wires all components;
# each can be required alone ("skep/os", "skep/fork", "skep/threads", "skep/swarm", "skep/log",
# "skep/control", "skep/systemd", "skep/metrics"). Of other gems it loads those that need no more
# than it: skep-map, and skep-rails in a Rails application.
# Start reading at docs/internals/architecture.md.
module Skep
end

require "skep/os"
require "skep/fork"
require "skep/threads"
require "skep/swarm"
require "skep/log"
require "skep/control"
require "skep/systemd"
require "skep/metrics"

module Skep
  # An installed skep that was found by -I, as in a mold, is activated. Otherwise RubyGems would
  # load gems for another version of skep beside it.
  def self.activate_gem
    return if !defined?(::Gem::Specification) || ::Gem.loaded_specs.key?("skep")

    installed = ::Gem::Specification.stubs_for("skep").find do |gem|
      gem.full_require_paths.any? { |path| ::File.identical?(path, __dir__) }
    end
    installed&.to_spec&.activate
  end
  private_class_method :activate_gem
  activate_gem

  if OptionalGem.try_require("skep/work")
    %i[map each each_with_index flat_map filter_map].each do |name|
      define_singleton_method(name) do |*, **|
        raise Error, "Skep.#{name} is in the gem skep-map, which isn't there in version " \
                     "#{VERSION}: run `gem install skep-map`, or add `gem \"skep-map\"` " \
                     "to the Gemfile"
      end
    end
  end
  OptionalGem.try_require("skep/rails") if defined?(::Rails::Railtie)
end
