# frozen_string_literal: true

# Keeps the membership of the group while handlers work: serves the client's queue on a thread of
# its own, takes and gives up partitions, and tells what librdkafka says.
#
#   keeper = Keeper.new(tools)
#   keeper.start
#   keeper.failure      # what ended it, if anything did
#   keeper.stop
#
# Because it serves the queue at all times, a handler or a backoff may take as long as it likes
# without costing the group (max.poll.interval.ms). Whether a handler hangs is the supervisor's to
# judge, by beats.
module Skep
  module Kafka
    class Keeper
      FINISH_SECONDS = 5.0 # how long a rebalance waits for batches in hand
      COMMIT_SECONDS = 5.0
      SEEK_SECONDS = 10.0
      POLL_SECONDS = 300.0 # librdkafka's max.poll.interval.ms unless set
      REMADE = "deleted and made again: read from its beginning"
      private_constant :FINISH_SECONDS, :COMMIT_SECONDS, :SEEK_SECONDS, :POLL_SECONDS, :REMADE

      attr_reader :failure #: Exception?

      def initialize(tools) #: (Tools) -> void
        @options = tools.options
        @child = tools.child
        @report = tools.report
        @consumer = tools.consumer
        @desk = tools.desk
        @meter = tools.meter
        @outage = Outage.new(tools)
        @namesakes, @gaps = Namesakes.new(@consumer), Gaps.new(tools)
        @serials = 0
        @wake, @waker = OS.pipe
      end

      def start #: () -> void
        @thread = Threads::Background.new("kafka.keeper") { serve }
      end

      def stop #: () -> void
        @waker.close
        @thread.close
        @wake.close
        [@outage, @namesakes, @gaps].each(&:close)
      end

      # Deals with one event of the client's. Called on the thread, and at the end by whoever
      # closes the client.
      def hear(event) #: (Event) -> void
        case event.kind
        when :rebalance then event.code == Codes::ASSIGN ? take(event.list) : give_up(event.list)
        when :error then error(event)
        when :log then @gaps.reset(event, @desk.intakes) || @report.log(event)
        when :commit then committed(event.code) && ask_who_they_are
        end
      end

      # The same while the client closes: what was done is committed, and all goes at once.
      def hear_last(event) #: (Event) -> void
        case event.kind
        when :rebalance then part(event.list)
        when :error then nil # of a client that closes
        else hear(event)
        end
      end

      # Commits what is done, at the end. Is there a group to take leave of? Not if nobody was there
      # to answer, or who did doesn't know this member any more: librdkafka, in the midst of joining
      # again, may never be done with its leave then.
      def commit_last #: () -> bool
        code = @outage.now? ? Codes::ALL_BROKERS_DOWN : commit_settled
        committed(code)
        ![*Codes::NETWORK, Codes::UNKNOWN_MEMBER].include?(code)
      end

      private

      def serve
        loop do
          @consumer.control.drain { |event| hear(event) }
          readable = wait
          break if readable.include?(@wake)

          look(readable)
        end
      rescue Exception => e # whatever it is, it must not end unseen: the main thread raises it
        @failure = e
        @desk.bell.ring
      end

      def wait
        ios = [@consumer.control, @namesakes, @gaps, @outage].filter_map(&:io)
        seconds = [poll_every, @outage.seconds_left, @gaps.seconds_left].compact.min
        readable, = IO.select([@wake, *ios], nil, nil, seconds)
        readable || []
      end

      def look(readable)
        @gaps.look(@desk.intakes)
        readable.include?(@outage.io) ? @outage.over : @outage.look
        begin_again(@namesakes.found) if readable.include?(@namesakes.io)
      end

      # Without any event the queue is served often enough to stay a member.
      def poll_every
        limit = @options.settings["max.poll.interval.ms"]
        (limit ? limit.to_i / 1000.0 : POLL_SECONDS) / 3
      end

      # Each partition's queue is turned to the desk before the assignment, so that no message goes
      # elsewhere.
      def take(list)
        list.keys.each { |topic, number| @desk.add(partition(topic, number)) }
        @consumer.assign(list)
        @joined = true
        tell("assigned", list.keys)
        ask_who_they_are
      end

      def ask_who_they_are = @namesakes.ask(@desk.keys.map(&:first).uniq)

      # Topics that were deleted and made again are read from their beginning. What was done of
      # those of before counts for nothing.
      def begin_again(topics)
        keys = @desk.keys.select { |topic, _| topics.include?(topic) }
        return if keys.empty?

        @desk.revoke(keys, FINISH_SECONDS)
        start = keys.map { |key| [*key, 0] }
        @consumer.seek(start, SEEK_SECONDS)
        start.each { |place| @consumer.store(*place) }
        committed(@consumer.commit(start, COMMIT_SECONDS))
        @meter.begin_again(keys)
        keys.each { |topic, number| @desk.add(partition(topic, number)) }
        @report.tell(:kafka_topic_remade, level: :error, partitions: PartitionList.by_topic(keys),
                                          note: REMADE)
      end

      def partition(topic, number)
        @consumer.partition(topic, number, id: @serials += 1, bell: @desk.bell,
                                           order: @options.method(:order),
                                           seeking: Seeker.new(@consumer, @report),
                                           limit: @options.batch, max_wait: @options.max_wait)
                 .tap { |partition| partition.intake.gaps = @gaps }
      end

      def give_up(list)
        lost = @consumer.lost?
        done = @desk.revoke(list.keys, lost ? 0 : FINISH_SECONDS)
        committed(@consumer.commit(done, COMMIT_SECONDS)) unless lost
        @consumer.unassign(list)
        tell(lost ? "lost" : "revoked", list.keys)
      end

      def part(list)
        held = @desk.keys
        @desk.revoke(held, 0)
        @consumer.unassign(list)
        tell("revoked", held)
      end

      # librdkafka has given up, and will commit nothing more.
      def fall(error)
        lost = @desk.keys
        @desk.revoke(lost, 0)
        tell("lost", lost) if lost.any?
        raise error
      end

      def tell(change, keys)
        held = PartitionList.by_topic(@desk.keys)
        changed = PartitionList.by_topic(keys)
        @meter.rebalanced(keys, @desk.keys)
        @report.tell(:kafka_rebalance, change:, partitions: changed, held:)
        @child.joined!(change == "assigned" || !held.empty?, partitions: held)
      end

      def error(event)
        fall(@consumer.fatal || failed(event)) if event.fatal?
        raise refused(event) if event.code == Codes::GROUP_REFUSED && !@joined

        advice = Refused.advice(event.code)
        return @report.error(event, name: :kafka_refused, note: advice) if advice

        @outage.began(event) || @report.error(event)
      end

      # While the group changes nothing can be committed: waits for it to settle.
      def commit_settled
        deadline = OS.now + COMMIT_SECONDS
        code = @consumer.commit(@desk.done, COMMIT_SECONDS)
        while Codes::REBALANCING.include?(code) && (left = deadline - OS.now).positive?
          @consumer.control.wait(left) { |event| hear(event) }
          code = @consumer.commit(@desk.done, COMMIT_SECONDS)
        end
        code
      end

      def committed(code)
        return true if code.zero?
        return if code == Codes::NO_OFFSET

        @report.problem(Native.err2name(code), Native.err2str(code),
                        name: :kafka_commit_failed, level: :warn)
      end

      def failed(event) = ClientFailed.new(code: event.name, text: event.text)

      def refused(event)
        Refused.new(what: :group, name: @options.group, cause: @report.clean(event.text),
                    brokers: @options.settings.brokers)
      end
    end
    private_constant :Keeper
  end
end
