# frozen_string_literal: true

require "kafka/fuzz/model"

module HandlerFuzz
  # Raises Broken if what changes an AssignedPartition comes in a state that its table doesn't allow:
  # it would be in the scheduler's queue twice, or be read by two threads.
  module PartitionStates
    FROM = { become_ready: %i[idle backoff], begin_reading: %i[ready],
             end_reading: %i[reading] }.freeze
    private_constant :FROM

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

    def close
      raise Broken, "a partition is closed that is in flight" if revocation && in_flight?

      super
    end
  end
end
