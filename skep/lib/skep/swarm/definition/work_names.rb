# frozen_string_literal: true

# Names of a swarm's works: those that the swarm file doesn't give, and which work of a new file is
# which of the running swarm. Pure.
#
#   WorkNames.complete(["web", nil, nil], ["work", "billing", "billing"])
#   # => ["web", "billing", "billing-2"]
#   WorkNames.order(before, now)   # => [1, 0]: where each work is now; nil: one is missing
module Skep
  class Swarm
    module Definition
      module WorkNames
        LONGEST = 90 # with room for a number
        private_constant :LONGEST

        module_function

        # given: nil for a work without a name. proposed: what it is to be called then; it may be
        # any text, and several may be the same.
        def complete(given, proposed)
          taken = given.compact
          given.zip(proposed).map do |name, text|
            name || free(valid(text), taken).tap { |found| taken << found }
          end
        end

        # before, now: works as plain data. A work is found by its name. One that the file had given
        # no name, and that isn't found so, is the next that is left.
        def order(before, now)
          left = now.each_index.to_a
          found = before.map { |work| take(left) { |one| now[one]["name"] == work["name"] } }
          before.each_index do |index|
            found[index] ||= take(left) { true } unless before[index]["named"]
          end
          found unless found.include?(nil)
        end

        def take(left, &) = left.find(&)&.tap { |one| left.delete(one) }

        def valid(text)
          text.to_s.gsub(/[^\w.-]/, "-").sub(/\A[^a-zA-Z0-9]+/, "")[0, LONGEST]
              .then { |name| name.empty? ? "work" : name }
        end

        def free(name, taken)
          return name unless taken.include?(name)

          (2..).lazy.map { |number| "#{name}-#{number}" }.find { |one| !taken.include?(one) }
        end
        private_class_method :take, :valid, :free
      end
    end
  end
end
