# frozen_string_literal: true

require "skep/os"

# Keeps a forked child's heap shared through its garbage collections. An opt-in, to be required
# before anything else, as only what Ruby allocates from then on can be kept so:
#
#   require "skep/reshare"   # or: ruby -rskep/reshare app.rb
#   require_relative "app"
#   Skep.warmup(reshare: true)
#
# Where this Ruby or this system can't do it nothing happens, and the warmup's report says why.
# See Skep::OS::HeapPageSlab and docs/memory.md.
Skep::OS::HeapPageSlab.install

if RUBY_VERSION < "3.3" && Skep::OS::HeapPageSlab.installed?
  # Up to Ruby 3.2 a Ractor must not end a collection that anybody listens to: it would crash. So
  # whoever makes one ends the re-sharing first.
  Ractor.singleton_class.prepend(Module.new do
    def new(...)
      Skep::OS::HeapPageSlab.stop("there was a Ractor, which Ruby #{RUBY_VERSION} can't do with it")
      super
    end
  end)
end
