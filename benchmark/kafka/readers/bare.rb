# frozen_string_literal: true

# Processes that calculate as the readers do, without Kafka. The gain by a second process is the
# most that this machine allows at the time.
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
