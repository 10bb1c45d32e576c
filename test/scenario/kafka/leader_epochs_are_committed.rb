# frozen_string_literal: true

# A node commits each offset with the leader epoch of the message before it. A broker that restarts
# begins a new epoch. After a seek back to messages of an older epoch, and after a restart of the
# swarm there, each batch is still committed within commit_interval.
require_relative "scenario"

class Epochs < KafkaScenario
  def play_out
    topic("orders", 1)
    fill(0)
    broker.stop
    broker.start
    fill(10)
    old = go_back
    swarm = run_swarm(reader_that_waits("batch.first_offset > 6"))
    must("commit the old epoch after a restart") { await_committed(swarm, 9) == old }
    File.unlink(hold)
    await_committed(swarm, 21)
    must("stop with 0") { swarm.stop.exitstatus.zero? }
  ensure
    @asker&.close
  end

  private

  # The swarm reads all, goes back to the beginning, and stops there. Returns the first epoch.
  def go_back
    swarm = run_swarm(reader_that_waits("$back && batch.first_offset > 0", <<~RUBY))
      batch.seek(0) if batch.last_offset == 20 && !$back
      $back ||= batch.last_offset == 20
    RUBY
    last = await_committed(swarm, 20)
    feed("orders", [%w[20 v]])
    old = await_committed(swarm, 3)
    must("commit the epochs of the messages: #{old} < #{last}") { old && last && old < last }
    must("stop with 0") { swarm.stop.exitstatus.zero? }
    must("commit what was in progress") { await_committed(swarm, 6) == old }
    old
  end

  def hold = File.join(directory, "hold")

  # Ten messages from that key on.
  def fill(from) = feed("orders", (from...from + 10).map { |n| [n.to_s, "v"] })

  # While the file is there it waits with the first batch that meets the condition.
  def reader_that_waits(condition, body = "")
    File.write(hold, "")
    reader("orders", nodes: 1, more: ", max_messages: 3, commit_interval: 0.3", body: <<~RUBY)
      node.wait(0.1) while #{condition} && File.exist?(#{hold.inspect}) && !node.stopping?
      #{body}
    RUBY
  end

  # The epoch with which that offset of the group's is committed.
  def await_committed(swarm, offset)
    found = nil
    swarm.follow("#{offset} is committed") do
      found = asker.committed_epochs([["orders", 0]], 1.0)&.fetch(["orders", 0], nil)
      found&.first == offset
    end
    puts "committed: #{found}"
    found.last
  end

  def asker
    @asker ||= Skep::Kafka.const_get(:Consumer).new({ "bootstrap.servers" => broker.address,
                                                      "group.id" => "readers" })
  end
end

Epochs.play { play_out }
