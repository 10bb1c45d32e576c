# frozen_string_literal: true

require "test_helper"
require "skep/work"

class MapClaimsTest < Skep::TestCase
  Claims = Skep::Work::Map.const_get(:Claims)
  private_constant :Claims

  def setup
    super
    @claims = Claims.new(2, 4)
  end

  def teardown
    @claims.close
    super
  end

  test "has lanes for what each node works on and as much again, each in a place of its own" do
    lanes = @claims.lanes(0) + @claims.lanes(1)
    assert_equal (0...16).to_a, lanes
    assert_equal 16, lanes.map { |lane| @claims.place(lane).drop(1) }.uniq.size
  end

  test "tells how many items were begun" do
    @claims.offer(9, 3)
    assert_equal 0, @claims.begun(9, 3)
    assert_equal [true, true], Array.new(2) { claim(9) }
    assert_equal [2, 0], [@claims.begun(9, 3), @claims.begun(8, 3)]
  end

  test "lets no more be claimed than was offered" do
    @claims.offer(0, 1)
    assert_equal [true, false, false], Array.new(3) { claim(0) }
    assert_equal 1, @claims.begun(0, 1)
  end

  test "cuts off what wasn't begun" do
    skip "nothing is cut on the fallback" unless Skep::OS::SharedPage.native?

    @claims.offer(0, 5)
    2.times { claim(0) }
    assert_equal 2, @claims.cut(0, 5)
    refute claim(0)
    assert_equal 2, @claims.cut(0, 2)
  end

  test "agrees with a process that claims while it cuts" do
    size = 100_000
    @claims.offer(0, size)
    pid, reader = in_child do |writer|
      claimed = 0
      claimed += 1 while claim(0)
      writer.write(claimed)
    end
    nil while @claims.begun(0, size) < 100
    kept = @claims.cut(0, size)
    assert_equal kept, Integer(wait_readable(reader, 30).read)
    assert_equal [kept, kept], [@claims.begun(0, kept), @claims.cut(0, kept)]
  ensure
    Process.wait(pid)
  end

  test "keeps a node's last words, until another has its place" do
    @claims.say(1, "x" * 1000)
    assert_equal "x" * Skep::OS::SharedPage::BLOB, @claims.said(1)
    assert_nil @claims.said(0)
    @claims.clear(1)
    assert_nil @claims.said(1)
  end

  private

  # As a node's hand does.
  def claim(lane)
    page, cell, word = @claims.place(lane)
    claims = page.add(cell, word, 1)
    claims & Claims::MASK <= claims >> Claims::SHIFT
  end
end
