# frozen_string_literal: true

require "json"

# Orders for examples/try, and the number of them in the ledger.
module Sample
  TOPICS = { "orders" => 8 }.freeze
  TOPIC = "orders"
  ORDERS = 20_000

  class << self
    # Karafka writes a log to its root.
    def environment(scratch) = { "LEDGER" => ledger(scratch), "KARAFKA_ROOT_DIR" => scratch }

    def messages
      Array.new(ORDERS) { |id| [id.to_s, JSON.generate(id:, cents: 100 + (id * 7 % 10_000))] }
    end

    def result(scratch, _)
      lines = File.exist?(ledger(scratch)) ? File.readlines(ledger(scratch), chomp: true) : []
      orders = lines.uniq.size
      "#{orders} of #{ORDERS} orders are in the ledger, #{lines.size - orders} were repeated"
    end

    private

    def ledger(scratch) = "#{scratch}/ledger.txt"
  end
end
