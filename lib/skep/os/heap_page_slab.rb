# frozen_string_literal: true

# Keeps Ruby's records of its heap pages together, and shares them with forked children for good.
#
#   Skep::OS::HeapPageSlab.install   # => nil, or why not; pages made before stay outside
#   Skep::OS::HeapPageSlab.share     # => nil, or why not; once the heap is settled, before forks
#   Skep::OS::HeapPageSlab.records   # heap pages whose record lies here
#   Skep::OS::HeapPageSlab.shared_bytes
#   Skep::OS::HeapPageSlab.given_back   # memory pages given back after collections
#
# Each full collection writes to every such record (mark bits above all), and these lie scattered in
# malloc's heap: a forked child's first collection copies a large part of it. Nearly all of them are
# the parent's again byte for byte when it is over. Here they lie close, and each page of them that
# is as it was is given back after a collection.
#
# Installing replaces two words in this process: Ruby's own calls of calloc and free. It is an
# opt-in (skep/reshare, `reshare: true`) for that reason, and it refuses where Ruby's heap isn't
# laid out as it is known to be, which it finds out by trying.
module Skep
  module OS
    module HeapPageSlab
      # Ruby's own allocations can't be told from Ruby: the fallback says so and does nothing.
      module Fallback
        #: () -> bool
        def installed? = false

        #: () -> Integer
        def records = 0

        #: () -> Integer
        def bytes = 0

        #: () -> Integer
        def shared_bytes = 0

        #: () -> Integer
        def given_back = 0

        private

        #: () -> void
        def unwatch = nil

        #: () -> String?
        def set_up = "it needs skep's C extension"
      end
      private_constant :Fallback

      extend Fallback

      # Twice is fine.
      #
      #: () -> String?
      def self.install = @refusal = set_up

      # Again is fine, too: what was forked before goes on with what it shares.
      #
      #: () -> String?
      def self.share
        return @refusal if @refusal
        return "skep/reshare wasn't required" unless installed?
        return "there are Ractors, whose objects change meanwhile" if Ractor.count > 1

        lay_into_file
      end

      # Gives nothing back from now on in this process, for a reason that later shares are told.
      #
      #: (String reason) -> void
      def self.stop(reason)
        @refusal ||= reason
        unwatch
      end
    end
  end
end
