# frozen_string_literal: true

require "kafka/fuzz/model"

module HandlerFuzz
  # Raises Broken if an AssignedPartition is changed in a state in which its table doesn't allow it:
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
  end
end
