# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ReforkTest < Skep::TestCase
  NodePool = Struct.new(:slots, :replaced) do
    def replace(_slot, _reason, on_retire:, &done) = replaced << [on_retire, done]
  end
  Supervisor = Struct.new(:node_pool, :config)
  MoldPool = Struct.new(:number)
  # A node that keeps the socket it is given.
  Node = Struct.new(:slot, :label, :socket) do
    def retire_to_mold(_number, socket, _refork) = self.socket = socket
  end
  private_constant :NodePool, :Supervisor, :MoldPool, :Node

  def setup
    super
    @node_pool = NodePool.new([], [])
    @said = []
    @node = Node.new(:slot, 0)
    @refork = Skep::Swarm::Rollout::Refork.new(MoldPool.new(1),
                                               Supervisor.new(@node_pool, nil)) do |why|
      @said << why
    end
    @refork.start(@node)
    @on_retire, @done = @node_pool.replaced.first
  end

  def teardown
    @node.socket.close
    super
  end

  test "closes its channel at once where the node is unfit" do
    @on_retire.call(@node)
    @refork.unfit("a thread")
    assert_nil @node.socket.read(1)
    assert_equal ["a thread"], @said
  end

  test "closes its channel at once where the node ends before it is a mold" do
    @on_retire.call(@node)
    @done.call(true)
    assert_nil @node.socket.read(1)
    assert_equal ["node 0 ended before it was a mold"], @said
  end
end
