# frozen_string_literal: true

require_relative "scenario"

# Hangs at the first attempt of one order. Writes errors of Karafka's threads that skep-guests has
# raised to a file.
HARM = <<~RUBY
  #{HANG}
  require_relative "orders_consumer"

  Karafka.monitor.subscribe("error.occurred") do |event|
    error = event[:error]
    next if Array(error.backtrace).grep(%r{/skep/karafka}).empty?

    File.write("\#{__dir__}/errors", "\#{error.class}: \#{error.message[0, 200]}\\n", mode: "a")
  end

  OrdersConsumer.prepend(Module.new do
    def consume
      hang if messages.any? { |one| one.raw_payload.include?("hang") } && first?
      super
    end

    private

    def first?
      File.open("\#{__dir__}/hung", File::CREAT | File::EXCL).close
      true
    rescue Errno::EEXIST
      false
    end
  end)
RUBY

# examples/karafka_in_a_swarm, while nodes are killed, one is stuck and all are restarted: each
# order is in the ledger, and Karafka reports no error of the guest.
ExampleScenario.play do
  orders, partitions = 9_000, 8
  topics("orders" => partitions)
  messages = Array.new(orders) do |id|
    order = { id:, cents: id * 3, note: id == orders / 2 ? "hang" : "" }
    [id.to_s, JSON.generate(order), id % partitions]
  end
  ledger = File.join(directory, "ledger")
  written = -> { File.exist?(ledger) ? File.readlines(ledger, chomp: true) : [] }
  entries = -> { written.call.uniq.size }

  quick = { "liveness_timeout: 30" => "liveness_timeout: 3, kill_timeout: 2" }
  swarm = run_example("karafka_in_a_swarm", files: { "harm.rb" => HARM },
                      options: { **quick, "orders_consumer" => "harm" },
                      "LEDGER" => ledger, "KARAFKA_ROOT_DIR" => directory)
  first, second, third = messages.each_slice(orders / 3).to_a
  feed("orders", first)
  kill_at(swarm, [1, 1_500]) { entries.call }
  feed("orders", second)
  hung = swarm.await("node_hung")
  must("name the stuck batch, not #{hung["in_flight"]}") do
    hung["in_flight"].to_s.match?(%r{orders/\d+/\d+-\d+})
  end
  swarm.signal(:USR2)
  feed("orders", third)
  swarm.await("restart_finished")
  swarm.follow("all orders are in the ledger") { entries.call == orders }
  stop_well(swarm)
  errors = Dir["#{directory}/**/errors"].flat_map { |file| File.readlines(file, chomp: true).uniq }
  must("end without an error of the guest, such as #{errors.first}") { errors.empty? }

  sums = written.call.uniq.sum { |line| Integer(line.split.last) }
  must("have the amount of each order") { sums == 3 * orders * (orders - 1) / 2 }
  puts "#{written.call.size - orders} of #{orders} orders were repeated"
end
