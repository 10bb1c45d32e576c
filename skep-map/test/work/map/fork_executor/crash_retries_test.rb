# frozen_string_literal: true

require "test_helper"
require "skep/work"
require "support/fakes"

class MapCrashRetriesTest < Skep::TestCase
  Chunk = Skep::Work::Map.const_get(:Chunk)
  CrashRetries = Skep::Work::Map.const_get(:ForkExecutor).const_get(:CrashRetries)
  KILLED = Skep::Swarm::IPC::ExitStatus.new(nil, "KILL")
  EXITED = Skep::Swarm::IPC::ExitStatus.new(3, nil)
  private_constant :Chunk, :CrashRetries, :KILLED, :EXITED

  def setup
    super
    @retries = CrashRetries.new
  end

  test "returns the chunks of a worker, the item in progress in a chunk of its own" do
    again = @retries.chunks_of(worker(chunk(0, 5), chunk(5, 2), started: [3]), KILLED)
    assert_equal [[0, 3], [3, 1], [4, 1], [5, 2]], places(again)
  end

  test "returns nothing for a worker without chunks" do
    assert_empty @retries.chunks_of(worker, KILLED)
    assert_empty @retries.chunks_of(worker(chunk(4, 0)), KILLED)
  end

  test "raises for the item that has killed two workers, and for no other" do
    @retries.chunks_of(worker(chunk(0, 5), started: [3]), KILLED)
    @retries.chunks_of(worker(chunk(0, 3), started: [2]), KILLED)
    error = assert_raises(Skep::NodeDied) { @retries.chunks_of(worker(chunk(3, 1), started: [3]), KILLED) }
    assert_equal [3, "item 3", "KILL"], [error.index, error.item, error.signal]
  end

  test "suspects the first item if a worker dies before it starts any" do
    assert_equal [[7, 1], [8, 1]], places(@retries.chunks_of(worker(chunk(7, 2)), KILLED))
    assert_raises(Skep::NodeDied) { @retries.chunks_of(worker(chunk(7, 1)), KILLED) }
  end

  test "retries no item whose worker has left on purpose" do
    died = worker(chunk(0, 1), started: [0], reason: "left by exit, called at app.rb:1")
    error = assert_raises(Skep::NodeDied) { @retries.chunks_of(died, EXITED) }
    assert_equal 3, error.exit_status
    assert_match(/ended its node \(pid 42\) with exit status 3 \(left by exit/, error.message)
  end

  private

  def chunk(from, size) = Chunk.new(from, Array.new(size) { |n| "item #{from + n}" })

  def worker(*chunks, started: [], reason: nil)
    Fakes::EndedWorker.new(chunks, started, reason, 42)
  end

  def places(chunks) = chunks.map { |chunk| [chunk.from, chunk.size] }
end
