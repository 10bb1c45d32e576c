# frozen_string_literal: true

# A node commits each offset with the leader epoch of the message before it. A restarted broker
# begins a new epoch. The swarm seeks back to messages of an older epoch, and is restarted there.
# Each batch is still committed within commit_interval.
require_relative "scenario"

class Epochs < KafkaScenario
  def play_out
    topic("orders", 1)
    fill(0)
    broker.stop
    broker.start
    fill(10)
    old = seek_back
    swarm = run_swarm(reader_that_waits("batch.first_offset > 6"))
    must("commit the old epoch after a restart") { await_committed(swarm, 9) == old }
    File.unlink(hold)
    await_committed(swarm, 21)
    must("exit with 0") { swarm.stop.exitstatus.zero? }
  ensure
    @consumer&.close
  end

  private

  # The swarm reads all messages, seeks back to the beginning, and stops there. Returns the epoch of
  # the first messages.
  def seek_back
    swarm = run_swarm(reader_that_waits("$back && batch.first_offset > 0", <<~RUBY))
      batch.seek(0) if batch.last_offset == 20 && !$back
      $back ||= batch.last_offset == 20
    RUBY
    last = await_committed(swarm, 20)
    feed("orders", [%w[20 v]])
    old = await_committed(swarm, 3)
    must("commit the messages' epochs: #{old} < #{last}") { old && last && old < last }
    must("exit with 0") { swarm.stop.exitstatus.zero? }
    must("commit the batch in progress") { await_committed(swarm, 6) == old }
    old
  end

  def hold = File.join(directory, "hold")

  # Produces ten messages, with keys from this number on.
  def fill(from) = feed("orders", (from...from + 10).map { |n| [n.to_s, "v"] })

  # Returns a swarm file whose handler waits, while the file `hold` exists, if the condition is
  # true.
  def reader_that_waits(condition, body = "")
    File.write(hold, "")
    reader("orders", nodes: 1, more: ", max_messages: 3, commit_interval: 0.3", body: <<~RUBY)
      node.wait(0.1) while #{condition} && File.exist?(#{hold.inspect}) && !node.stopping?
      #{body}
    RUBY
  end

  # Waits until the group has committed the offset. Returns its epoch.
  def await_committed(swarm, offset)
    found = nil
    swarm.follow("#{offset} is committed") do
      key = ["orders", 0]
      found = consumer.committed_with_metadata([key], 1.0)&.fetch(key, nil)&.first(2)
      found&.first == offset
    end
    puts "committed: #{found}"
    found.last
  end

  def consumer
    @consumer ||= Skep::Kafka.const_get(:Consumer).new(
      { "bootstrap.servers" => broker.address, "group.id" => "readers" }
    )
  end
end

Epochs.play { play_out }
