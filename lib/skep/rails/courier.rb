# frozen_string_literal: true

# Brings jobs to Kafka: at once where anybody enqueues one, waiting until the brokers have it; in a
# node that does a job as part of that one, which isn't done before what it has enqueued has
# arrived.
#
#   parcels = [Courier::Parcel.new(job, "jobs.default", "{…}", "key")]
#   Courier.bring(parcels)               # => parcels, each with its place, or its error
#   Courier.with(child) { perform }      # what is enqueued in the block goes by child.producer
#
# A process has a producer of its own, made when the first job is enqueued; after a fork another.
module Skep
  module Rails
    module Courier
      # place: where it lies; error: why it couldn't be brought, or wasn't confirmed in time.
      Parcel = Struct.new(:job, :topic, :payload, :key, :delivery, :error) do
        def place = delivery&.report
      end

      # More than librdkafka has, so that it is the one that says why.
      LEEWAY_SECONDS = 2.0
      CHILD = :skep_rails_child
      # A job is waited for, and can't wait for others. (While librdkafka waits to connect anew it
      # gives up no message.)
      DEFAULTS = { "linger.ms" => "0", "reconnect.backoff.max.ms" => "1000" }.freeze
      private_constant :LEEWAY_SECONDS, :CHILD, :DEFAULTS

      @lock = Mutex.new

      class << self
        #: (Array[Parcel]) -> Array[Parcel]
        def bring(parcels)
          return parcels.each { |parcel| post(child.producer, parcel) } if child

          producer = self.producer
          parcels.each { |parcel| post(producer, parcel) }
          confirm(parcels)
        ensure
          close if producer&.fatal
        end

        def with(child) #: (Swarm::Child) { () -> untyped } -> untyped
          before = self.child
          Thread.current.thread_variable_set(CHILD, child)
          yield
        ensure
          Thread.current.thread_variable_set(CHILD, before)
        end

        # Who does the job that this thread is at, if it is at one, in whichever of its fibers: an
        # Enumerator of the job's has one of its own.
        #: () -> Swarm::Child?
        def child = Thread.current.thread_variable_get(CHILD)

        # The next job is brought by another.
        def close #: () -> void
          spent = @lock.synchronize { @producer.tap { @producer = nil } }
          spent.close(timeout: seconds) if spent && @generation == Skep.generation
        end

        # What the producer tells: to Rails' log.
        #: (Symbol, ?level: Symbol, **untyped) -> void
        def event(name, level: :info, **facts)
          told = facts.map { |fact, value| " #{fact}=#{value}" }
          ::Rails.logger&.public_send(level, "skep: #{name}#{told.join}")
        end

        private

        def post(producer, parcel)
          parcel.delivery = producer.produce(parcel.topic, parcel.payload, key: parcel.key)
        rescue Kafka::DeliveryFailed => e # each on its own: the others may go
          parcel.error = e
        end

        def confirm(parcels)
          deadline = OS.now + seconds + LEEWAY_SECONDS
          parcels.each do |parcel|
            parcel.delivery&.wait(timeout: [deadline - OS.now, 0].max.ceil(1))
          rescue Kafka::DeliveryFailed => e
            parcel.error = e
          end
        end

        def producer
          @lock.synchronize do
            @producer = nil if @generation != Skep.generation
            @producer ||= make.tap { @generation = Skep.generation }
          end
        end

        def make
          own = Rails.config.kafka.transform_keys(&:to_s)
          settings = { **DEFAULTS, "message.timeout.ms" => (seconds * 1000).to_i.to_s, **own }
          Kafka::Producer.new(settings, child: self)
        end

        def seconds = Rails.config.enqueue_timeout
      end
    end
    private_constant :Courier
  end
end
