# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class BootMonitorTest < Skep::TestCase
  Supervisor = Struct.new(:stopping, :timer, :sentences, :events) do
    def config = nil
    def node_pool = nil
    def file = "swarm.rb"
    def stopping? = stopping
    def nodes_requested? = true
    def loop = self
    def boot_limit = 2.0
    def deadline(_, &block) = self.timer = block
    def fail_boot(sentence, _) = sentences << sentence
  end
  private_constant :Supervisor

  test "at the boot limit, fails the boot unless the swarm is stopping" do
    assert_equal [0, 1], [true, false].map { |stopping| sentences(stopping) }
  end

  private

  def sentences(stopping)
    supervisor = Supervisor.new(stopping, nil, [], Skep::Swarm::Runtime::EventBus.new)
    Skep::Swarm::Supervisor::BootMonitor.new(supervisor).watch
    supervisor.timer.call
    supervisor.sentences.size
  end
end
