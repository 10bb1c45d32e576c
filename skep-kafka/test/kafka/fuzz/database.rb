# frozen_string_literal: true

begin
  require "active_record"
  require "arel"
rescue LoadError
  nil # programs with offsets in a database are run without
end

module HandlerFuzz
  # The table of DatabaseOffsets, with transactions and locks of rows. What handlers write in a
  # transaction is the model's once it is committed.
  class Table
    def self.available? = !defined?(::ActiveRecord).nil?

    # During the block it is skep's table.
    def self.stand_in(table)
      offsets = Skep::Kafka::DatabaseOffsets
      before = offsets.instance_variable_get(:@record)
      offsets.instance_variable_set(:@record, table)
      yield
    ensure
      offsets.instance_variable_set(:@record, before)
    end

    # Rows of one partition.
    class Relation
      def initialize(table, key)
        @table, @key = table, key
      end

      def lock(_how) = tap { @table.lock(@key) }
      def pick(*) = @table.row(@key)
      def update_all(row) = @table.update(@key, row.fetch(:next_offset))
      def delete_all = nil
    end

    # row: an offset before the transaction and in it.
    Transaction = Struct.new(:key, :offset, :payloads)
    private_constant :Relation, :Transaction

    def initialize(cluster)
      @cluster = cluster
      crashed
      @rows = {}
    end

    # Open transactions end with their node.
    def crashed = @open = {}.compare_by_identity

    def transaction
      open = @open[Fiber.current] = Transaction.new(nil, nil, [])
      yield
      commit(open)
    rescue ::ActiveRecord::Rollback
      nil
    ensure
      @open.delete(Fiber.current)
    end

    def where(row) = Relation.new(self, row.values_at(:consumer_group, :topic, :partition))

    def insert(row, **) = update(row.values_at(:consumer_group, :topic, :partition),
                                 row.fetch(:next_offset))

    def column_names = []
    def release_connection = nil
    def write(payload) = @open.fetch(Fiber.current).payloads << payload

    def lock(key)
      other = @open.any? { |fiber, one| one.key == key && !fiber.equal?(Fiber.current) }
      raise ::ActiveRecord::LockWaitTimeout, "the row is locked" if other

      @open.fetch(Fiber.current).key = key
    end

    def row(key) = @open.fetch(Fiber.current).offset || @rows[key]

    def update(_key, offset)
      @open.fetch(Fiber.current).offset = offset
    end

    private

    def commit(open)
      return unless open.offset

      @rows[open.key] = open.offset
      @cluster.transaction(open.key.last(2), open.offset, open.payloads)
    end
  end
end
