# frozen_string_literal: true

# What a handler did with a batch in one try that failed, or why the batch wasn't tried: the facts
# by which Failure::RetryPolicy decides. WorkItem#attempt makes it.
module Skep
  module Kafka
    module Processing
      # error: what was raised. offset: of the message at which it was, if that is known.
      # first_offset, last_offset, marked: of the batch as it was tried. size: how many messages are
      # tried together again; by key those of the key that failed. halved: by key it isn't known
      # which key failed, and half of them are tried apart. unreadable: the offsets of messages for
      # which the deserializer raised. crashes: of how many nodes a poison message was the cause,
      # which wasn't tried; nil: it isn't one.
      Attempt = Struct.new(:topic, :error, :offset, :first_offset, :last_offset, :marked, :size,
                           :halved, :unreadable, :crashes, keyword_init: true) do
        # Of a message that is marked nothing is tried again. If it isn't known at which message the
        # handler raised, and it has marked some, it may have been one of those.
        def raised_at_marked? = !marked.nil? && (offset.nil? || offset <= marked)

        # Returns true if not all of its messages are marked.
        def unmarked? = marked.nil? || marked < last_offset

        # Returns true if the deserializer raised for some messages of a batch of several.
        def unreadable_of_several? = !unreadable.to_a.empty? && first_offset < last_offset

        # Returns true if it is a failure of what is tried again.
        def counted? = !raised_at_marked? && !unreadable_of_several?

        def several? = size > 1

        # Returns true if it is known which message has failed, and only that one is tried again.
        def one_message? = size == 1 && !halved
      end
    end
  end
end
