# frozen_string_literal: true

# The errors of skep/rails.
#
#   rescue Skep::Rails::EnqueueFailed => e
#     e.jobs     # => the jobs that Kafka hasn't stored
module Skep
  module Rails
    # Raised where skep needs the application's configuration before the application is loaded.
    class ApplicationNotLoaded < Skep::Error
      def initialize
        super("The Rails application isn't loaded. Add `require_relative \"environment\"` " \
              "before this.")
      end
    end

    # Kafka didn't acknowledge a job. It is no ActiveJob::EnqueueError: perform_later would rescue
    # that and return false, which few callers check.
    class EnqueueFailed < Skep::Error
      attr_reader :jobs # those that Kafka hasn't acknowledged

      def initialize(jobs:, of:, cause:)
        @jobs = jobs
        what = of == 1 ? "#{jobs.first.class} wasn't" : "#{jobs.size} of #{of} jobs weren't"
        super("#{what} enqueued: #{cause}")
      end
    end

    # A queue's name can't be part of a topic's name.
    class InvalidQueueName < Skep::Error
      def initialize(queue:, reserved:)
        hint = if reserved
          "skep reserves this name. Choose another."
        else
          "Use letters, digits, \".\", \"_\" and \"-\"."
        end
        super("Queue #{queue.inspect} can't have a topic. #{hint}")
      end
    end

    # A message in a queue's topic isn't a job that Active Job has serialized.
    class InvalidJob < Skep::Error
      def initialize(cause:)
        super("This message is not a job that Active Job has serialized (#{cause}). Check " \
              "whether another program writes to this topic.")
      end
    end
  end
end
