# frozen_string_literal: true

# Processes that calculate as the readers do, without Kafka or anything else around it: how much
# the second of them brings is what this machine has to give at the time.
require_relative "tally"

PAYLOAD = "x" * 90
Tally.wish("workers").times do
  fork do
    loop do
      Tally.work(PAYLOAD)
      Tally.add(1)
    end
  end
end
Process.waitall
