# frozen_string_literal: true

module Skep
  module Kafka
    module Testing
      # A child for tests: does what Skep::Swarm::Child does, waits for nothing, and remembers.
      #
      #   child = Testing.child(id: 3)
      #   child.events      # => [[:paid, :info, { amount: 3 }]], what the handler told
      #   child.produced    # => [ProducedMessage], what it wrote with child.producer
      #   child.ats         # => [0, 1, nil], what batch.each gave out
      #   child.beats; child.done; child.excuses; child.complaints; child.in_hands; child.marks
      #   child.stop!       # child.stopping? from here on; `quiet!` likewise
      class FakeChild
        # Remembers the offsets given to batch.mark.
        Marker = Struct.new(:marks) do
          def mark(offset) = marks << offset
        end
        private_constant :Marker

        attr_reader :id #: Integer
        attr_reader :swarm #: String
        attr_reader :mold #: Integer
        attr_reader :caution #: Swarm::Processes::KnownSuspects
        attr_reader :events #: Array[[Symbol, Symbol, Hash[Symbol, untyped]]], name, level, facts
        attr_reader :produced #: Array[ProducedMessage], what was written by `producer`
        attr_reader :ats #: Array[Integer?], which part of a batch was at work
        attr_reader :in_hands #: Array[String?], what was in hand, in turn
        attr_reader :marks #: Array[Integer], offsets given to batch.mark
        attr_reader :excuses #: Array[Numeric], the seconds given to busy(for:)
        attr_reader :complaints #: Array[String], reasons given to unhealthy!
        attr_reader :beats #: Integer, how many
        attr_reader :done #: Integer, messages counted
        attr_reader :work #: Hash?, what `skep status` would show
        attr_reader :producer #: FakeProducer

        def initialize(id: 0, swarm: "test")
          @id, @swarm, @mold = id, swarm, 0
          @events, @produced, @ats, @in_hands, @marks, @excuses, @complaints =
            Array.new(7) { [] }
          @beats = @done = 0
          @hooks = []
          @caution = Swarm::Processes::KnownSuspects.new([], report: ->(*) {})
          @producer = FakeProducer.new(@produced)
        end

        def ready! = @ready = true
        def ready? = @ready ? true : false #: () -> bool, was ready! called?

        def joined!(joined = true, **facts)
          outgoing("joined", { "joined" => joined, "facts" => facts }, "joined!")
          @joined = joined
        end

        def joined? = @joined ? true : false #: () -> bool, what joined! said last
        def take_place = !stopping?
        def for_good? = false
        def lane(_thread) = self
        def beat = @beats += 1
        def beat_every = 10.0
        def healthy! = @complaints.clear
        def in_hand(text, **) = @in_hands << Swarm::IPC::Messages.text(text, "in_hand takes")
        def count(number = 1, **) = @done += Swarm::IPC::Messages.whole(number, "count takes")

        def unhealthy!(reason)
          said = outgoing("unhealthy", { "reason" => reason }, "unhealthy!")
          @complaints << said["reason"]
        end

        def work=(facts)
          outgoing("work", { "facts" => facts }, "work=")
          @work = facts
        end

        def at(number)
          Swarm::IPC::Messages.whole(number, "at takes nil or") if number
          @ats << number
          beat
        end

        def busy(**seconds)
          @excuses << seconds.fetch(:for)
          yield if block_given?
        end

        def event(name, level: :info, **facts)
          outgoing("event", { "name" => name, "level" => level, "facts" => facts }, "event")
          @events << [name.to_sym, level, facts]
        end

        # All that was told under this name.
        #: (Symbol) -> Array[Hash[Symbol, untyped]]
        def told(name) = @events.filter_map { |known, _, facts| facts if known == name }

        # Returns at once, as at a stop.
        def wait(_timeout = nil)
          beat
          quiet?
        end

        def wait_for(ios, timeout = nil)
          stopping? ? [] : IO.select(ios, nil, nil, timeout).to_a.first.to_a
        end

        def on_stop(&hook) = stopping? ? hook.call : @hooks << hook

        # As if the swarm told it to stop: its on_stop blocks run.
        def stop! #: () -> void
          @stopping = true
          @hooks.each(&:call).clear
        end

        # As if the swarm told it to be quiet.
        def quiet! = @quiet = true #: () -> void

        def stopping? = @stopping ? true : false
        def quiet? = @quiet || stopping?
        def time_left = nil

        # It gives out this batch from here on.
        def __given(batch) = batch.__attach(self, Marker.new(@marks))

        def __lend(producer)
          @producer = producer
        end

        def inspect = "#<Skep::Kafka::Testing::FakeChild #{swarm} node=#{id}>"

        private

        # Raises ArgumentError for what a node's child would not send.
        def outgoing(...) = Swarm::IPC::Messages::FROM_NODE.outgoing(...)
      end
    end
  end
end

require "skep/kafka/testing/fake_producer"
