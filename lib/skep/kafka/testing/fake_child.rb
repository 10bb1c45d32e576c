# frozen_string_literal: true

module Skep
  module Kafka
    module Testing
      # Replaces Skep::Swarm::Child in tests. It records calls and never waits.
      #
      #   child = Testing.child(id: 3)
      #   child.events      # => [[:paid, :info, { amount: 3 }]], published events
      #   child.produced    # => [ProducedMessage], written with child.producer
      #   child.ats         # => [0, 1, nil], offsets that batch.each yielded
      #   child.beats; child.done; child.excuses; child.complaints; child.in_hands; child.marks
      #   child.stop!       # child.stopping? from here on; `quiet!` likewise
      class FakeChild
        # Records the offsets given to batch.mark.
        Marker = Struct.new(:marks) do
          def mark(offset) = marks << offset
        end
        private_constant :Marker

        attr_reader :id #: Integer
        attr_reader :swarm #: String
        attr_reader :mold #: Integer
        attr_reader :caution #: Swarm::Processes::KnownSuspects
        attr_reader :events #: Array[[Symbol, Symbol, Hash[Symbol, untyped]]], name, level, facts
        attr_reader :produced #: Array[ProducedMessage], written with `producer`
        attr_reader :ats #: Array[Integer?], arguments of `at`: offsets that batch.each yielded
        attr_reader :in_hands #: Array[String?], arguments of `in_hand`
        attr_reader :marks #: Array[Integer], offsets given to batch.mark
        attr_reader :excuses #: Array[Numeric], the seconds given to busy(for:)
        attr_reader :complaints #: Array[String], reasons given to unhealthy!
        attr_reader :beats #: Integer, how many beats
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
        def ready? = @ready ? true : false #: () -> bool, true once ready! was called

        def joined!(joined = true, **facts)
          outgoing("joined", { "joined" => joined, "facts" => facts }, "joined!")
          @joined = joined
        end

        def joined? = @joined ? true : false #: () -> bool, the last argument of joined!
        def take_place = !stopping?
        def for_good? = false
        def lane(_thread) = self
        def beat = @beats += 1
        def beat_every = 10.0
        def healthy! = @complaints.clear

        def in_hand(text, thread: 0)
          Swarm::IPC::Messages.whole(thread, "in_hand(thread:) takes")
          @in_hands << Swarm::IPC::Messages.text(text, "in_hand takes")
        end

        def count(number = 1, thread: 0)
          Swarm::IPC::Messages.whole(thread, "count(thread:) takes")
          @done += Swarm::IPC::Messages.whole(number, "count takes")
        end

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

        def busy(for:)
          @excuses << binding.local_variable_get(:for)
          yield if block_given?
        end

        def event(name, level: :info, **facts)
          outgoing("event", { "name" => name, "level" => level, "facts" => facts }, "event")
          @events << [name.to_sym, level, facts]
        end

        # The facts of all events of that name.
        #: (Symbol) -> Array[Hash[Symbol, untyped]]
        def told(name) = @events.filter_map { |known, _, facts| facts if known == name }

        # Returns at once.
        def wait(_timeout = nil)
          beat
          quiet?
        end

        def wait_for(ios, timeout = nil)
          stopping? ? [] : IO.select(ios, nil, nil, timeout).to_a.first.to_a
        end

        def on_stop(&hook) = stopping? ? hook.call : @hooks << hook

        # Acts as a stop of the swarm: runs the on_stop blocks.
        def stop! #: () -> void
          @stopping = true
          @hooks.each(&:call).clear
        end

        # Acts as `skep quiet`.
        def quiet! = @quiet = true #: () -> void

        def stopping? = @stopping ? true : false
        def quiet? = @quiet || stopping?
        def time_left = nil

        # Attaches the batch to this child.
        def __given(batch) = batch.__attach(self, Marker.new(@marks))

        def __lend(producer)
          @producer = producer
        end

        def inspect = "#<Skep::Kafka::Testing::FakeChild #{swarm} node=#{id}>"

        private

        # Raises ArgumentError where a real child does.
        def outgoing(...) = Swarm::IPC::Messages::FROM_NODE.outgoing(...)
      end
    end
  end
end
