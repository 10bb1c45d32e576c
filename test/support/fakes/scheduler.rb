# frozen_string_literal: true

module Fakes
  # A partition of the Assignment.
  AssignedPartition = Struct.new(:id, :key, :in_flight, :revocation, :closed, keyword_init: true) do
    def in_flight? = in_flight ? true : false
    def close = self.closed = true
  end
  stands_for AssignedPartition, "Skep::Kafka::Processing::AssignedPartition",
             controls: %i[in_flight closed]

  # A partition of the scheduler. items: how many it has to hand out; wide: several at a time;
  # waits: when to read it again; gathering: waits for more messages.
  ScheduledPartition = Struct.new(:id, :key, :state, :retry_at, :revocation, :position, :gathering,
                                  :items, :wide, :waits, :place, :order, :last_success, :text,
                                  :in_flight, :sorted, keyword_init: true) do
    def awaiting_keys = text
    def options = nil # all are of one topic

    def assign_keys(keys)
      self.sorted = keys
      self.text = nil
    end

    def succeeded(began) = self.last_success = began
    def succeeded_since?(time) = time && last_success ? last_success > time : false
    def data_available = nil
    def idle = self.state = :idle
    def back_off = self.state = :backoff
    def ready = (self.state = :ready) && (self.retry_at = nil)
    def begin_reading = self.state = :reading
    def item_taken = self.in_flight += 1
    def item_released = self.in_flight -= 1
    def revoke(revocation) = self.revocation = revocation
    def wait? = !retry_at.nil? && (seeking? || !more?)
    def errors = []
    def store_entry(labelled: true) = [*key, position, 7, *(labelled ? "label" : nil)]
    def partition = self
    def in_flight? = in_flight.positive? || state == :reading
    def gathering? = gathering
    def seeking? = !place.nil?
    def seek(place, _last = nil, _generation = nil) = self.place = place
    def waits_for = nil
    def waits_for?(_strand) = false
    def stale?(item) = !item.order.equal?(order)
    def more? = seeking? ? in_flight.zero? : items.positive? && (wide || in_flight.zero?)
    def done(_strand, offset) = self.position = offset + 1
    def release(item) = (self.released ||= []) << item
    def failed(_item) = false
    def in_doubt? = false
    def commit_entry = position && [*key, position]
    def close = self.state = :closed

    attr_accessor :released

    def read
      self.retry_at = waits
      self.place, self.order = nil, Object.new if seeking? && in_flight.zero?
    end

    def next_item
      return if seeking? || !more?

      self.items -= 1
      message = Skep::Kafka::Message.new(*key, 41, nil, nil, 0, {})
      slice = Skep::Kafka::Processing::Slice.new(*key, [message])
      Skep::Kafka::Processing::WorkItem.new(self, [slice], order:)
    end
  end
  stands_for ScheduledPartition, "Skep::Kafka::Processing::AssignedPartition",
             controls: %i[items wide waits place order text sorted gathering released released=]
end
