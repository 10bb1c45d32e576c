# frozen_string_literal: true

# Produces jobs to Kafka. Outside a job, `enqueue` waits until the brokers have acknowledged all of
# them. Inside a job it doesn't wait: the jobs become outputs of that job's batch, which completes
# only when they are acknowledged. JobQueues decides the topic and the key of a job.
#
#   requests = [JobProducer::EnqueueRequest.new(job, "jobs.default", "{…}", "key")]
#   JobProducer.enqueue(requests)             # => requests, each with its place or its error
#   JobProducer.with_node(node) { perform } # jobs enqueued in the block use node.producer
#
# Each process has one producer, created when the first job is enqueued and again after a fork.
module Skep
  module Rails
    module JobProducer
      # error: why the job couldn't be produced, or wasn't acknowledged in time.
      EnqueueRequest = Struct.new(:job, :topic, :payload, :key, :delivery, :error) do
        def place = delivery&.report
      end

      # Waited beyond librdkafka's own timeout, so that its error is the one that is raised.
      EXTRA_SECONDS = 2.0
      NODE = :skep_rails_node
      # The caller waits for its job, so batching only adds latency. The short reconnect interval
      # is needed because librdkafka doesn't time out messages while it waits to reconnect.
      DEFAULTS = { "linger.ms" => "0", "reconnect.backoff.max.ms" => "1000" }.freeze
      private_constant :EXTRA_SECONDS, :NODE, :DEFAULTS

      @lock = Mutex.new

      class << self
        def enqueue(requests)
          return requests.each { |request| produce(node.producer, request) } if node

          producer = self.producer
          requests.each { |request| produce(producer, request) }
          await_deliveries(requests)
        ensure
          close if producer&.fatal
        end

        def with_node(node)
          before = self.node
          Thread.current.thread_variable_set(NODE, node)
          yield
        ensure
          Thread.current.thread_variable_set(NODE, before)
        end

        # The node whose job this thread runs, or nil. A thread variable, not a fiber-local one: a
        # job may enqueue from an Enumerator, which has its own fiber.
        def node = Thread.current.thread_variable_get(NODE)

        # Closes the producer. The next `enqueue` creates another.
        def close
          closing = @lock.synchronize { @producer.tap { @producer = nil } }
          closing.close(timeout: seconds) if closing && @generation == Skep.generation
        end

        # Writes the producer's events to Rails' log.
        def event(name, level: :info, **facts)
          fields = facts.map { |fact, value| " #{fact}=#{value}" }
          ::Rails.logger&.public_send(level, "skep: #{name}#{fields.join}")
        end

        private

        def produce(producer, request)
          request.delivery = producer.produce(request.topic, request.payload, key: request.key)
        rescue Kafka::DeliveryFailed => e # of this job only: the others are still produced
          request.error = e
        end

        def await_deliveries(requests)
          deadline = OS.now + seconds + EXTRA_SECONDS
          requests.each do |request|
            request.delivery&.wait(timeout: [deadline - OS.now, 0].max.ceil(1))
          rescue Kafka::DeliveryFailed => e
            request.error = e
          end
        end

        def producer
          @lock.synchronize do
            @producer = nil if @generation != Skep.generation
            @producer ||= new_producer.tap { @generation = Skep.generation }
          end
        end

        def new_producer
          configured = Rails.config.kafka.transform_keys(&:to_s)
          timeout = (seconds * 1000).to_i.to_s
          settings = { **DEFAULTS, "message.timeout.ms" => timeout, **configured }
          Kafka::Producer.new(settings, node: self)
        end

        def seconds = Rails.config.enqueue_timeout
      end
    end
    private_constant :JobProducer
  end
end
