# frozen_string_literal: true

require "skep/reshare/heap_page_slab"

# Keeps a forked child's heap shared through its garbage collections. Opt-in: require it before
# anything else, because it covers only what Ruby allocates from then on.
#
#   require "skep/reshare"   # or: ruby -rskep/reshare app.rb
#   require_relative "app"
#   Skep.warmup(reshare: true)
#
# If this Ruby or this system doesn't support it, nothing happens and the warmup's report says why.
# See Skep::Reshare::HeapPageSlab and docs/articles/memory.md.
Skep::Reshare::HeapPageSlab.install

require "skep/fork" # later than the installation, which covers what it allocates
Skep::Fork::ReshareHook.sharing = Skep::Reshare::HeapPageSlab

if RUBY_VERSION < "3.3" && Skep::Reshare::HeapPageSlab.installed?
  # Up to Ruby 3.2 a collection that ends in a Ractor crashes if a GC hook is installed. So
  # Ractor.new stops the sharing first.
  Ractor.singleton_class.prepend(Module.new do
    def new(...)
      reason = "there was a Ractor, which Ruby #{RUBY_VERSION} can't do with it"
      Skep::Reshare::HeapPageSlab.stop(reason)
      super
    end
  end)
end
