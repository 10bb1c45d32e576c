# frozen_string_literal: true

# What an application may be told.
#
#   rescue Skep::Rails::NotEnqueued => e
#     e.jobs     # => those that weren't
module Skep
  module Rails
    # Asked for what the application decides, before that was loaded.
    class NoApplication < Skep::Error
      def initialize #: () -> void
        super("the Rails application isn't there yet: require_relative \"environment\" before it")
      end
    end

    # Kafka didn't take a job, or didn't say in time that it did. It is no ActiveJob::EnqueueError,
    # which perform_later would turn into a false that hardly anybody looks at.
    class NotEnqueued < Skep::Error
      attr_reader :jobs #: Array[ActiveJob::Base], those that Kafka hasn't taken

      #: (jobs: Array[ActiveJob::Base], of: Integer, cause: String) -> void
      def initialize(jobs:, of:, cause:)
        @jobs = jobs
        what = of == 1 ? "#{jobs.first.class} wasn't" : "#{jobs.size} of #{of} jobs weren't"
        super("#{what} enqueued: #{cause}")
      end
    end

    # No topic can be named after a queue.
    class BadQueue < Skep::Error
      #: (queue: String, reserved: bool) -> void
      def initialize(queue:, reserved:)
        advice = if reserved
          "skep keeps that name for itself, choose another"
        else
          "take letters, digits, \".\", \"_\" and \"-\""
        end
        super("no topic can be named after the queue #{queue.inspect}: #{advice}")
      end
    end

    # What lies in a queue's topic isn't a job of Active Job's.
    class NoJob < Skep::Error
      def initialize(cause:) #: (cause: String) -> void
        super("this is no job that Active Job has serialized (#{cause}): who else writes to this " \
              "topic?")
      end
    end
  end
end
