# frozen_string_literal: true

module Fakes
  # A partition of the Assignment.
  AssignedPartition = Struct.new(:id, :key, :options, :in_flight, :revocation, :closed,
                                 keyword_init: true) do
    def in_flight? = in_flight ? true : false
    def begin_revocation = self.revocation = :begun
    def close = self.closed = true
  end
  stands_for AssignedPartition, "Skep::Kafka::Processing::AssignedPartition",
             controls: %i[in_flight closed]
end
