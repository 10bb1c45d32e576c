# frozen_string_literal: true

require "kafka/fuzz/model"

module HandlerFuzz
  # Raises Broken if an AssignedPartition is changed in a state in which its table doesn't allow it:
  # it would be in the scheduler's queue twice, or be read by two threads. It does so, too, if
  # something is called without the scheduler's lock that other threads change.
  module PartitionStates
    FROM = { become_ready: %i[idle backoff], begin_reading: %i[ready],
             end_reading: %i[reading] }.freeze
    LOCKED = %i[begin_revocation finish_revocation runnable? data_available next_item take failed
                put_back succeeded seek done position done_beyond commit_entry store_entry
                blocked? awaits_messages?].freeze
    private_constant :FROM, :LOCKED

    attr_writer :lock # the scheduler's

    LOCKED.each do |name|
      define_method(name) do |*args, **more|
        raise Broken, "#{name} without the scheduler's lock" unless @lock.owned?

        super(*args, **more)
      end
    end

    FROM.each do |name, states|
      define_method(name) do |*args, **more|
        raise Broken, "#{name} of a partition that is #{state}" unless states.include?(state)

        super(*args, **more)
      end
    end

    def release(item)
      raise Broken, "a work item is released that nobody has" unless in_flight.positive?

      super
    end
  end
end
