# frozen_string_literal: true

require "test_helper"
require_relative "../../rollout/rollout_parts"

# Ends of nodes that come together with something else. No process is forked.
class NodePoolEndsTest < Skep::TestCase
  def teardown
    @parts.close
    super
  end

  test "a swarm whose last node isn't needed any more, and can't be forked, has done its work" do
    boot(0, 0, restart: "on_failure")
    @parts.ended(slot.node)
    @parts.ended(@parts.slots.last.node, 3)
    unforked = @parts.slots.last.node
    @pool.remove(@parts.slots.last, "scale")
    @pool.fork_failed(unforked.page_index, "EAGAIN")
    assert_equal [:done], @stops
  end

  private

  def boot(*loads, **options)
    @parts = RolloutParts.new(*loads, **options)
    @pool = @parts.node_pool
    @stops = stops = []
    supervisor = @pool.instance_variable_get(:@supervisor)
    supervisor.define_singleton_method(:stop) { |reason:| stops << reason }
    @parts.boot
  end

  def slot = @parts.slots.first
end
