# frozen_string_literal: true

require "skep/os"

# Allocates Ruby's records of its heap pages in one slab, so that forked children keep sharing them.
#
#   slab = Skep::Reshare::HeapPageSlab
#   slab.install        # => nil, or the reason why not; earlier heap pages stay outside
#   slab.share          # => nil, or the reason why not; when the heap is settled, before forks
#   slab.records        # heap pages whose record is in the slab
#   slab.shared_bytes
#   slab.given_back     # memory pages shared again after collections
#
# Each full collection writes to every such record (mark bits above all). Malloc scatters them over
# its heap, so a forked child's first collection copies a large part of it, although nearly all
# records have the parent's content again when the collection is over. In the slab they are
# contiguous, and after a collection each unchanged memory page is shared with the parent again.
#
# Installing replaces two words of this process: the addresses by which Ruby calls calloc and free.
# It is therefore opt-in (skep/reshare, `reshare: true`). It tries out whether Ruby's heap has the
# known layout, and refuses if not.
module Skep
  module Reshare
    module HeapPageSlab
      # Ruby code can't intercept Ruby's allocations: the fallback does nothing.
      module Fallback
        def installed? = false

        def records = 0

        def bytes = 0

        def shared_bytes = 0

        def given_back = 0

        private

        def unwatch = nil

        def set_up = "it needs the C extension"
      end
      private_constant :Fallback

      extend Fallback

      # Starts to allocate records in the slab. May be called again.
      def self.install = @refusal = set_up

      # Moves the slab into a file that children forked from now on share. May be called again;
      # children forked before keep what they share.
      def self.share
        return @refusal if @refusal
        return "skep/reshare wasn't required" unless installed?
        return "there are Ractors, whose objects change meanwhile" if Ractor.count > 1

        lay_into_file
      end

      # The step of a warmup, for Fork::ReshareHook.
      def self.step
        reason = share
        return { skipped: reason } if reason

        { note: "the records of #{records} of #{GC.stat(:heap_allocated_pages)} heap pages" }
      end

      # Stops sharing pages again in this process; later calls of #share return the reason.
      def self.stop(reason)
        @refusal ||= reason
        unwatch
      end
    end
  end
end

Skep::OS.__load("skep/skep_reshare")
