# frozen_string_literal: true

module Skep
  module Threads
    class Inbox
      # What an inbox was made to do when it is full, and at a fork.
      #
      #   Terms.new(limit: 1_000, full: :block, inherit: :parent)
      #
      # limit    how many items it holds at most; nil, any number
      # full     :block        a push waits for room, as long as its timeout says
      #          :drop_oldest  a push throws the oldest item away, and counts it
      #          :raise        a push raises Inbox::Full at once
      # inherit  :parent       what is in it at a fork is the parent's to do; the child begins
      #                        empty, unless Process.daemon made it, which ends the parent
      #          :items        the child has them too: each process does them
      #          :none         the child begins empty, even then
      Terms = Struct.new(:limit, :full, :inherit, keyword_init: true) do
        #: (limit: Integer?, full: Symbol, inherit: Symbol) -> void
        def initialize(limit:, full:, inherit:)
          limit.nil? || (limit.is_a?(Integer) && limit.positive?) or
            raise ArgumentError, "limit: is a positive Integer or nil, not #{limit.inspect}"

          Terms.check(:full, full, %i[block drop_oldest raise])
          Terms.check(:inherit, inherit, %i[parent items none])
          super
        end

        # Raises ArgumentError for a value that isn't known.
        #
        #: (Symbol name, untyped value, Array[Symbol] known) -> void
        def self.check(name, value, known)
          known.include?(value) or
            raise ArgumentError, "#{name}: is one of #{known.inspect}, not #{value.inspect}"
        end
      end
      private_constant :Terms
    end
  end
end
