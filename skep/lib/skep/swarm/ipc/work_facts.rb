# frozen_string_literal: true

require "skep/redaction"

# The facts about a node's work (`node.work=`) as plain data. The supervisor adds some of them up
# over all nodes, so these are checked both at the user's call and when they arrive.
#
#   WorkFacts.of({ totals: { jobs: 3 } })  # plain data, without secrets
#   WorkFacts.fault(plain)               # => "totals must be a Hash, not 3", or nil
#   WorkFacts.cut(facts, :partitions)    # as `of`, with as many elements of that list as fit
module Skep
  class Swarm
    module IPC
      module WorkFacts
        BYTES = 4 * 1024 * 1024 # as JSON
        TOTALS = 64
        NAME_BYTES = 256 # of a total or a topic: the supervisor keeps some as long as it runs
        GREATEST = 10**18 # a number that is added up: sums over any number of nodes stay finite
        # The facts that the supervisor adds up. They aren't redacted when they are reported,
        # because a count may have a name such as "tokens"; StatusReport removes secrets from the
        # sums. All other facts are redacted once, when they are reported: for thousands of
        # partitions, redacting them for each status took half a second.
        SUMS = %w[totals handler by_topic].freeze
        private_constant :BYTES, :TOTALS, :NAME_BYTES, :GREATEST

        module_function

        def of(facts) = redacted(PlainData.bounded(facts, bytes: BYTES))
        def cut(facts, key) = redacted(PlainData.cut(facts, key, bytes: BYTES))

        def redacted(plain) = { **Redaction.of(plain.except(*SUMS)), **plain.slice(*SUMS) }

        # Returns what can't be added up, in words, or nil.
        def fault(facts)
          return must("facts", "a Hash", facts) unless facts.is_a?(Hash)

          (totals(facts["totals"]) if facts.key?("totals")) ||
            (handler(facts["handler"]) if facts.key?("handler")) ||
            (by_topic(facts["by_topic"]) if facts.key?("by_topic"))
        end

        def totals(totals)
          return must("totals", "a Hash", totals) unless totals.is_a?(Hash)
          return "totals must not be more than #{TOTALS} numbers" if totals.size > TOTALS

          long = totals.each_key.find { |name| name.bytesize > NAME_BYTES }
          return must("totals: a name", "at most #{NAME_BYTES} bytes long", long) if long

          name, odd = totals.find { |_, total| !sum?(total) }
          must("totals: #{name}", "a finite number within #{GREATEST} of 0", odd) if name
        end

        def handler(handler)
          return if Stats::Histogram.plain?(handler)

          must("handler", "what Histogram#to_plain returns", handler)
        end

        # A list: as the name of a value, a topic such as "tokens" would make it a secret.
        def by_topic(rows)
          named = rows.is_a?(Array) && rows.all? do |row|
            row.is_a?(Hash) && row["topic"].is_a?(String) && row["topic"].bytesize <= NAME_BYTES
          end
          return must("by_topic", "a list of Hashes with a topic", rows) unless named

          rows.each do |row|
            fault = totals(row["totals"]) || handler(row["handler"])
            return fault if fault
          end
          nil
        end

        # Returns true if any number of such values can be added up.
        def sum?(value)
          number = value.is_a?(Integer) || (value.is_a?(Float) && value.finite?)
          number && value.abs <= GREATEST
        end

        def must(name, wanted, value) = "#{name} must be #{wanted}, not #{PlainData.shown(value)}"
        private_class_method :redacted, :totals, :handler, :by_topic, :sum?, :must
      end
    end
  end
end
