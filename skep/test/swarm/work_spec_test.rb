# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class WorkSpecTest < Skep::TestCase
  WorkSpec = Skep::Swarm::WorkSpec
  Source = Struct.new(:handler, :ran) do
    def errors = []
    def facts = {}
    def threads = 1
    def run(*given) = ran.concat(given)
  end
  private_constant :WorkSpec, :Source

  test "a source that brings its own handler needs no block" do
    task = WorkSpec.new(source = Source.new(:own, []), nil)
    task.run(:node)

    assert_empty task.to_plain["errors"]
    assert_equal %i[node own], source.ran
  end

  test "a block overrides the source's own handler" do
    task = WorkSpec.new(source = Source.new(:own, []), block = -> {})
    task.run(:node)

    assert_equal [:node, block], source.ran
  end
end
