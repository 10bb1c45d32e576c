# frozen_string_literal: true

# Which messages are suspected to crash their nodes, by what the nodes had in hand that did; and
# which one is guilty.
#
#   poison = PoisonDetector.new(child.caution)
#   poison.any?                     # is anything suspected at all?
#   poison.ranges(batch)            # => [17..42]: those are given out in batches of their own …
#   poison.alone?(batch)            # … and perhaps with nothing else at work in the node
#   poison.guilty?(batch)           # it isn't given out any more
#   poison.acquit(partition)        # all before its position has been done
#
# | in hand at a crash | what becomes of it |
# |---|---|
# | a batch, and it isn't known how far it was | its messages one at a time, nothing beside them |
# | a batch, of which `each` gave out one message | that one so; the others one at a time |
# | a message | alone in its node: the crash counts, and CRASHES of those make it guilty |
#
# Who crashed alone is guilty; who was near a crash is innocent once it has been done.
module Skep
  module Kafka
    module Failure
      class PoisonDetector
        CRASHES = 3
        LABEL = %r{\A(.+)/(\d+)/(\d+)-(\d+)\z} # Batch#label
        private_constant :LABEL

        # What a suspect's name says.
        Case = Struct.new(:suspect, :topic, :partition, :first, :last) do
          def of?(batch) = topic == batch.topic && partition == batch.partition
          def covers?(offset) = offset.between?(first, last)

          # Which message it was, if that is known.
          def offset = suspect.at || (first if first == last)
        end
        private_constant :Case

        def initialize(caution) #: (Swarm::Processes::KnownSuspects) -> void
          @caution = caution
        end

        def any? = @caution.any? #: () -> bool

        # The offsets of it that are suspected.
        #: (Batch) -> Array[Range[Integer]]
        def ranges(batch)
          near = cases(batch).reject { |one| one.last < batch.first_offset }
          near.map { |one| one.first..one.last }.reject { |range| range.min > batch.last_offset }
        end

        # Is it to be at work with nothing beside it?
        def alone?(batch) #: (Batch) -> bool
          any? && batch.size == 1 && about(batch).any? do |one|
            one.offset.nil? || one.offset == batch.first_offset
          end
        end

        def guilty?(batch) = any? && crashes(batch) >= CRASHES #: (Batch) -> bool

        # How many nodes crashed with this message, and nothing else, in hand.
        def crashes(batch)
          accusations(batch).sum { |one| one.suspect.alone }
        end #: (Batch) -> Integer

        # How they died.
        #: (Batch) -> Array[String]
        def ends(batch) = accusations(batch).flat_map { |one| one.suspect.ends }

        # It is to blame for all crashes it was near.
        #: (Batch) -> void
        def convict(batch) = @caution.convict(about(batch).map(&:suspect))

        # All that is before its position has been done.
        def acquit(partition) #: (Processing::AssignedPartition) -> void
          position = partition.position or return
          of = all.select { |one| [one.topic, one.partition] == partition.key }
          over = of.select { |one| one.last < position }
          @caution.acquit(over.map(&:suspect)) if over.any?
        end

        private

        def all = @caution.suspects.filter_map { |suspect| read(suspect) }
        def cases(batch) = all.select { |one| one.of?(batch) }

        # Those that a batch of one message is part of.
        def about(batch) = cases(batch).select { |one| one.covers?(batch.first_offset) }

        # Those that name that message.
        def accusations(batch)
          return [] unless batch.size == 1

          about(batch).select { |one| one.offset == batch.first_offset }
        end

        def read(suspect)
          _, topic, *numbers = *LABEL.match(suspect.in_hand)
          Case.new(suspect, topic, *numbers.map(&:to_i)) if topic
        end
      end
    end
  end
end
