# frozen_string_literal: true

# Says which messages are suspected to crash their nodes, by what was in progress in nodes that
# crashed, and which one is poison: it crashes each node that processes it.
#
#   poison = PoisonDetector.new(node.crash_suspects)
#   poison.any?                     # true if anything is suspected
#   poison.ranges(slice)            # => [17..42], suspected offsets: they get slices of their own
#   poison.alone?(slice)            # true if it must run with nothing else in the node
#   poison.named?(slice)            # true if a crash was at exactly this message
#   poison.poison?(slice)           # true if its one message must not be processed again
#   poison.report_poison(slice)     # it caused the crashes
#   poison.clear(["orders", 3], 43)  # messages before that offset are done: suspects no longer
#
# | in progress at a crash | what follows |
# |---|---|
# | a batch, and `each` was at a message | that message runs alone in the node |
# | a batch, and it isn't known which message | each of its messages does, one after another |
# | at another crash a batch with some of these, at another message | all that both have does |
# | one message, alone in its node | this crash counts; after CRASHES such crashes it is poison |
#
# A message that was alone in its node caused the crash. A message that only was near a crash is
# cleared once it has been processed.
#
# The third row is for handlers that crash at a message after `each` has moved on, as those with a
# buffer do. It doesn't apply to a message that was alone at a crash: that one explains its crashes.
#
# The supervisor finds the suspects on the scoreboard after a crash (Health::CrashAttribution),
# records them (swarm/ipc/crash_suspects.rb), and sends them to the nodes, which have them as
# Processes::KnownSuspects. PoisonDetector only decides. Processing::Worker (process_with_suspects)
# runs suspects alone in the node. FailureHandler#poison does with a poison message what
# `on_poison:` says.
module Skep
  module Kafka
    module Failure
      class PoisonDetector
        CRASHES = 3
        LABEL = %r{\A(.+)/(\d+)/(\d+)-(\d+)\z} # Slice#label

        # The slice that a suspect's label names.
        SuspectedSlice = Struct.new(:suspect, :topic, :partition, :first, :last) do
          def of?(slice) = topic == slice.topic && partition == slice.partition
          def covers?(offset) = offset.between?(first, last)

          # The message that was in progress; nil if that isn't known.
          def offset = suspect.current_item || (first if first == last)
          def range = first..last
          def named = offset ? offset..offset : range

          # Returns true if its one message crashed a node alone: no other has to explain that.
          def proven? = first == last && suspect.alone.positive?

          # The offsets of both, if these were two crashes at different messages.
          def common(other)
            return if suspect.time == other.suspect.time || offset == other.offset

            [first, other.first].max..[last, other.last].min
          end
        end
        private_constant :LABEL, :SuspectedSlice

        def initialize(crash_suspects)
          @crash_suspects = crash_suspects
        end

        def any? = @crash_suspects.any?

        # Returns the slice's offsets that are suspected.
        def ranges(slice)
          all = suspected(slice)
          proven = all.filter_map { |one| one.offset if one.proven? }
          near = all.select { |one| overlap?(one.range, slice) }
          unproven = near.reject { |one| proven.include?(one.offset) }
          common = unproven.combination(2).filter_map { |one, other| one.common(other) }
          [*near.map(&:named), *common].select { |range| overlap?(range, slice) }
        end

        # Returns true if nothing else may run in the node beside the slice.
        def alone?(slice) = any? && slice.size == 1 && ranges(slice).any?

        # Returns true if the slice's one message was in progress at a crash, not only its batch.
        def named?(slice) = suspected_alone(slice).any?

        def poison?(slice) = any? && crashes(slice) >= CRASHES

        # Returns true if the slice's one message was in progress in a node that hung.
        def hung?(slice)
          about(slice).any? { |one| one.suspect.ends.any? { |cause| cause.include?("hung") } }
        end

        # Returns how many nodes crashed while they processed this message and nothing else.
        def crashes(slice) = suspected_alone(slice).sum { |one| one.suspect.alone }

        # Returns the same with the crashes at which more was in progress.
        def total(slice) = suspected_alone(slice).sum { |one| one.suspect.crashes }

        # Returns how the last nodes of all these crashes died.
        def ends(slice) = suspected_alone(slice).flat_map { |one| one.suspect.ends }

        # Reports the message as the cause of all crashes near it.
        def report_poison(slice) = @crash_suspects.blame(about(slice).map(&:suspect))

        # Clears suspects before the position of the partition with that topic and number. Has no
        # effect while that is unknown.
        def clear(key, position)
          return unless position

          done = all.select { |one| [one.topic, one.partition] == key && one.last < position }
          @crash_suspects.clear(done.map(&:suspect)) if done.any?
        end

        private

        def overlap?(range, slice)
          range.any? && range.min <= slice.last_offset && range.max >= slice.first_offset
        end

        def all = @crash_suspects.filter_map { |suspect| parse(suspect) }
        def suspected(slice) = all.select { |one| one.of?(slice) }

        # Those about a slice that had this slice's one message.
        def about(slice) = suspected(slice).select { |one| one.covers?(slice.first_offset) }

        # Those about this one message.
        def suspected_alone(slice)
          return [] unless slice.size == 1

          about(slice).select { |one| one.offset == slice.first_offset }
        end

        def parse(suspect)
          _, topic, *numbers = *LABEL.match(suspect.in_flight)
          SuspectedSlice.new(suspect, topic, *numbers.map(&:to_i)) if topic
        end
      end
    end
  end
end
