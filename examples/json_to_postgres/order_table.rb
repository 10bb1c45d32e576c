# frozen_string_literal: true

require "json"
require "pg"

# The table of schema.sql, with its own connection.
#
#   table = OrderTable.new("postgresql:///shop")
#   table.upsert([{ "id" => 7, …, kafka_offset: 42 }], node)
class OrderTable
  # One statement for a batch. A row only moves to a higher offset: a repeated message, or a late
  # one from a process that was considered dead, finds its offset or a later one and changes
  # nothing.
  UPSERT = <<~SQL
    INSERT INTO orders AS stored (id, customer, state, cents, kafka_offset)
    SELECT id, customer, state, cents, kafka_offset
    FROM json_to_recordset($1)
      AS fresh(id bigint, customer text, state text, cents bigint, kafka_offset bigint)
    ORDER BY id -- so that two writers of the same rows don't deadlock
    ON CONFLICT (id) DO UPDATE
      SET (customer, state, cents, kafka_offset) =
          (excluded.customer, excluded.state, excluded.cents, excluded.kafka_offset)
      WHERE stored.kafka_offset < excluded.kafka_offset
  SQL

  def initialize(url)
    @url = url
    connect
  end

  # Waits for a database that is away, so that no message becomes a dead letter. If the database
  # refuses the rows, the error is raised, and skep retries message by message.
  def upsert(orders, node)
    newest = orders.to_h { |order| [order["id"], order] }.values # an upsert takes each row once
    connect unless connected?
    @connection.exec_params(UPSERT, [JSON.generate(newest)])
  rescue PG::Error
    raise if connected? || node.wait(1) # true: the node stops, and the batch is delivered again

    retry
  end

  private

  # Not PG::Connection#reset: where the server refuses it, the connection is finished for good.
  def connect
    @connection.finish unless @connection.nil? || @connection.finished?
    @connection = PG.connect(@url)
  end

  def connected? = !@connection.finished? && @connection.status == PG::CONNECTION_OK
end
