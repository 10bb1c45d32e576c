# frozen_string_literal: true

# The errors of skep/rails.
#
#   rescue Skep::Rails::EnqueueFailed => e
#     e.jobs     # => the jobs that Kafka hasn't stored
module Skep
  module Rails
    # Raised where skep needs the application's configuration before the application is loaded.
    class ApplicationNotLoaded < Skep::Error
      def initialize #: () -> void
        super("the Rails application isn't loaded: require_relative \"environment\" before this")
      end
    end

    # Kafka didn't acknowledge a job. It is no ActiveJob::EnqueueError: perform_later would rescue
    # that and return false, which few callers check.
    class EnqueueFailed < Skep::Error
      attr_reader :jobs #: Array[ActiveJob::Base], those that Kafka hasn't acknowledged

      #: (jobs: Array[ActiveJob::Base], of: Integer, cause: String) -> void
      def initialize(jobs:, of:, cause:)
        @jobs = jobs
        what = of == 1 ? "#{jobs.first.class} wasn't" : "#{jobs.size} of #{of} jobs weren't"
        super("#{what} enqueued: #{cause}")
      end
    end

    # A queue's name can't be part of a topic's name.
    class InvalidQueueName < Skep::Error
      #: (queue: String, reserved: bool) -> void
      def initialize(queue:, reserved:)
        hint = if reserved
          "skep reserves this name, choose another"
        else
          "take letters, digits, \".\", \"_\" and \"-\""
        end
        super("no topic can be named after the queue #{queue.inspect}: #{hint}")
      end
    end

    # A message in a queue's topic isn't a job that Active Job has serialized.
    class InvalidJob < Skep::Error
      def initialize(cause:) #: (cause: String) -> void
        super("this message is no job that Active Job has serialized (#{cause}): does another " \
              "program write to this topic?")
      end
    end
  end
end
