# frozen_string_literal: true

module Skep
  module Kafka
    module Testing
      # Replaces Skep::Swarm::Node in tests. It records calls and never waits.
      #
      #   node = Testing.node(id: 3)
      #   node.events      # => [[:paid, :info, { amount: 3 }]], published events
      #   node.produced    # => [ProducedMessage], written with node.producer
      #   node.current_items         # => [0, 1, nil], offsets that batch.each yielded
      #   node.beats; node.done; node.marks
      #   node.busy_seconds; node.unhealthy_reasons; node.in_flight_texts
      #   node.stop!       # node.stopping? from here on; `quiet!` and `resume!` likewise
      class FakeNode
        # Records the offsets given to batch.mark.
        Marker = Struct.new(:marks) do
          def mark(offset) = marks << offset
        end
        private_constant :Marker

        attr_reader :id
        attr_reader :swarm
        attr_reader :mold
        attr_reader :work_name
        attr_reader :revision
        attr_reader :crash_suspects
        attr_reader :events # name, level, facts
        attr_reader :produced # written with `producer`
        attr_reader :current_items # offsets that batch.each yielded
        attr_reader :in_flight_texts # arguments of `in_flight`
        attr_reader :marks # offsets given to batch.mark
        attr_reader :busy_seconds # the seconds given to busy(for:)
        attr_reader :unhealthy_reasons # reasons given to unhealthy!
        attr_reader :beats # how many beats
        attr_reader :done # messages counted
        attr_reader :work # what `skep status` would show
        attr_reader :producer

        # on_error: blocks of Swarm#on_error, which each failed attempt calls; serializer: as the
        # source's, for `producer`.
        def initialize(id: 0, swarm: "test", on_error: [], serializer: nil, revision: nil)
          @on_error, @revision = on_error, revision
          @id, @swarm, @mold, @work_name = id, swarm, 0, "work"
          @events, @produced, @current_items, @in_flight_texts = Array.new(4) { [] }
          @marks, @busy_seconds, @unhealthy_reasons = Array.new(3) { [] }
          @beats = @done = 0
          @hooks = []
          @crash_suspects = Swarm::Processes::KnownSuspects.new([], report: proc {})
          @producer = FakeProducer.new(@produced, serializer:)
        end

        def ready! = @ready = true
        def ready? = @ready ? true : false # true once ready! was called
        def __boot_time_left = nil
        def __progress_pages = nil
        def __first_of_its_work? = id.zero?

        def assigned!(assigned = true, **facts)
          Swarm::IPC::Arguments.assigned(assigned, facts)
          @assigned = assigned
        end

        def assigned? = @assigned ? true : false # the last argument of assigned!
        def wait_for_predecessor = !stopping?
        def scaling_down? = false
        def stop_timeout = 30.0
        def thread(_thread) = self
        def beat = @beats += 1
        def beat_every = 10.0
        def healthy! = @unhealthy_reasons.clear

        def in_flight(text, thread: 0)
          Swarm::IPC::Arguments.whole(thread, "in_flight(thread:) takes")
          @in_flight_texts << Swarm::IPC::Arguments.text(text, "in_flight takes")
        end

        def processed(number = 1, thread: 0)
          Swarm::IPC::Arguments.whole(thread, "processed(thread:) takes")
          @done += Swarm::IPC::Arguments.whole(number, "processed takes")
        end

        def unhealthy!(reason)
          said = Swarm::IPC::Arguments.unhealthy(reason)
          @unhealthy_reasons << said["reason"]
        end

        def work=(facts)
          Swarm::IPC::Arguments.work(facts)
          @work = facts
        end

        def current_item(number)
          Swarm::IPC::Arguments.whole(number, "current_item takes nil or") if number
          @current_items << number
          beat
        end

        def busy(for:)
          @busy_seconds << binding.local_variable_get(:for)
          yield if block_given?
        end

        def event(name, level: :info, **facts)
          Swarm::IPC::Arguments.event(name, level, facts)
          @events << [name.to_sym, level, facts]
        end

        # The facts of all events of that name.
        def events_named(name) = @events.filter_map { |known, _, facts| facts if known == name }

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
        def stop!
          @stopping = true
          @hooks.each(&:call).clear
        end

        # Acts as `skep quiet`.
        def quiet! = @quiet = true

        # Acts as `skep resume`.
        def resume! = @quiet = false

        def stopping? = @stopping ? true : false
        def quiet? = @quiet || stopping?
        def time_left = nil

        def __handler_records = nil
        def __replace_process(...) = nil

        def __report_work(facts, list:)
          Swarm::IPC::WorkFacts.cut(facts, list)
          @work = facts
          true
        end

        # Returns a batch that reports to this node.
        def __batch(slice) = Processing::Attempt.new(slice, self, Marker.new(@marks)).batch

        def __failed(error, **context)
          context = { swarm:, work: work_name, node: id, mold:, pid: Process.pid, **context }
          @on_error.each { |block| block.call(error, context) }
        end

        def __lend(producer)
          @producer = producer
        end

        def inspect = "#<Skep::Kafka::Testing::FakeNode #{swarm} node=#{id}>"
      end
    end
  end
end
