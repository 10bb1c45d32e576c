# frozen_string_literal: true

require "json"
require "pg"

# The table of schema.sql, over a connection of its own.
#
#   table = OrderTable.new("postgresql:///shop")
#   table.upsert([{ "id" => 7, …, kafka_offset: 42 }], node)
class OrderTable
  # One statement a batch. A row only ever goes forward: what comes again, or comes late from a
  # process thought dead, finds its own offset or a later one there and changes nothing.
  UPSERT = <<~SQL
    INSERT INTO orders AS stored (id, customer, state, cents, kafka_offset)
    SELECT id, customer, state, cents, kafka_offset
    FROM json_to_recordset($1)
      AS fresh(id bigint, customer text, state text, cents bigint, kafka_offset bigint)
    ORDER BY id -- so that two who write the same rows don't wait for each other in a circle
    ON CONFLICT (id) DO UPDATE
      SET (customer, state, cents, kafka_offset) =
          (excluded.customer, excluded.state, excluded.cents, excluded.kafka_offset)
      WHERE stored.kafka_offset < excluded.kafka_offset
  SQL

  def initialize(url)
    @url = url
    connect
  end

  # A database that is away isn't the messages' fault: it is waited for here, so that none of them
  # becomes a dead letter. What the database refuses is raised, and tried again message by message.
  def upsert(orders, node)
    newest = orders.to_h { |order| [order["id"], order] }.values # an upsert takes a row but once
    connect unless connected?
    @connection.exec_params(UPSERT, [JSON.generate(newest)])
  rescue PG::Error
    raise if connected? || node.wait(1) # true: this node is to stop, and the batch comes again

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
