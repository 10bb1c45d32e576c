# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ReforkTest < Skep::TestCase
  Manager = Struct.new(:seats, :replaced) do
    def replace(_seat, _reason, farewell:, &done) = replaced << [farewell, done]
  end
  Supervisor = Struct.new(:manager, :config)
  Foundry = Struct.new(:number)
  # A node that keeps the socket it is given.
  Node = Struct.new(:seat, :label, :socket) do
    def retire_to_mold(_number, socket, _refork) = self.socket = socket
  end
  private_constant :Manager, :Supervisor, :Foundry, :Node

  def setup
    super
    @manager = Manager.new([], [])
    @said = []
    @node = Node.new(:seat, 0)
    @refork = Skep::Swarm::Refork.new(Foundry.new(1), Supervisor.new(@manager, nil)) do |why|
      @said << why
    end
    @refork.start(@node)
    @farewell, @done = @manager.replaced.first
  end

  def teardown
    @node.socket.close
    super
  end

  test "closes its channel at once where the node is unfit" do
    @farewell.call(@node)
    @refork.unfit("a thread")
    assert_nil @node.socket.read(1)
    assert_equal ["a thread"], @said
  end

  test "closes its channel at once where the node ends before it is a mold" do
    @farewell.call(@node)
    @done.call(true)
    assert_nil @node.socket.read(1)
    assert_equal ["node 0 ended before it was a mold"], @said
  end
end
