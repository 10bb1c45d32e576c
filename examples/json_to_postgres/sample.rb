# frozen_string_literal: true

require "json"

# Orders for examples/try: a message when each is made, paid and sent. A few aren't JSON.
module Sample
  TOPICS = { "orders" => 8, "orders.dead" => 1 }.freeze
  TOPIC = "orders"
  ORDERS = 5_000
  STATES = %w[made paid sent].freeze
  BROKEN = "{\"id\": 7, \"customer\": "

  class << self
    def environment(_) = {}

    def messages
      STATES.flat_map { |state| [["7", BROKEN], *Array.new(ORDERS) { |id| order(id, state) }] }
    end

    # Returns the contents of the table: all orders, all of them sent.
    def result(_, postgres)
      rows = postgres.query("SELECT state, count(*), sum(cents) FROM orders GROUP BY state")
      rows.lines.map { |row| row.chomp.split("|") }
          .map { |row| format("rows of the table: %2$d orders in state %1$s, %3$d cents", *row) }
    end

    private

    def order(id, state)
      customer = "c#{id % 500}"
      [id.to_s, JSON.generate(id:, customer:, state:, cents: 100 + (id * 7 % 10_000))]
    end
  end
end
