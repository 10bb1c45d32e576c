# frozen_string_literal: true

require "json"

# Appends each order to a file, a line each, with one write for a batch. An order may come twice.
class OrdersConsumer < Karafka::BaseConsumer
  def consume
    lines = messages.map do |message|
      order = JSON.parse(message.raw_payload)
      "#{order["id"]} #{order["cents"]}\n"
    end
    File.write(ENV.fetch("LEDGER", "ledger.txt"), lines.join, mode: "a")
  end
end
