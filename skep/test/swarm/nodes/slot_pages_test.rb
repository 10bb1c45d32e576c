# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# The pages that the processes of a slot hand on.
class SlotPagesTest < Skep::TestCase
  Pages = Skep::Swarm::IPC::ProgressPages
  private_constant :Pages

  def setup
    super
    @slot_pages = Skep::Swarm::Nodes::SlotPages.new(2)
    @opened = []
  end

  def teardown
    [@slot_pages, *@opened].each(&:close)
    super
  end

  test "gives a process its own page, and its successor what that says" do
    first = take_over(:first)
    assert_nil first.former
    write(first.own, 41)
    @slot_pages.leave(:first)

    second = take_over(:second)
    assert_equal [41, 0], [second.former, second.own].map { |page| page.get(1, 3) }
  end

  test "gives nothing of a process that has withdrawn its page" do
    first = take_over(:first)
    write(first.own, 41)
    Pages.withdraw(first.own)
    @slot_pages.leave(:first)
    assert_nil take_over(:second).former
  end

  test "gives on what a process that died before it wrote anything was given" do
    write(take_over(:first).own, 41)
    @slot_pages.leave(:first)
    take_over(:second)
    @slot_pages.leave(:second)
    assert_equal 41, take_over(:third).former.get(1, 3)
  end

  test "gives the newer page once a process has written its own" do
    [41, 42].each do |word|
      write(take_over(word).own, word)
      @slot_pages.leave(word)
    end
    assert_equal 42, take_over(:third).former.get(1, 3)
  end

  test "gives a process that still runs a page that no other writes to" do
    old, new = take_over(:old), take_over(:new)
    write(old.own, 41)
    assert_equal 0, new.own.get(1, 3)
  end

  test "gives none to work that doesn't use them" do
    slot_pages = Skep::Swarm::Nodes::SlotPages.new(nil)
    assert_empty slot_pages.take_over(:first)
    slot_pages.leave(:first)
    assert_nil Pages.open([])
  end

  # What a node's channel is given.
  Channel = Struct.new(:sent) do
    def post(type, _facts = {}, give: []) = sent << [type, give]
  end
  private_constant :Channel

  test "go to the process that is promoted, after one that was killed" do
    slot = Skep::Swarm::Nodes::Slot.new(0, 0, progress_cells: 2)
    old, new = Array.new(2) { Skep::Swarm::Nodes::NodeProcess.new(0, slot, nil, 1.0) }
    slot.launch(old)
    @opened << (pages = Pages.open(slot.hand_over(old)))
    write(pages.own, 41)
    slot.launch(new)
    assert_equal :promoted, slot.leave(old, nil, 2.0, within: 60)
    new.listens_to(channel = Channel.new([]))
    new.place
    type, ios = channel.sent.last
    @opened << (pages = Pages.open(ios))
    assert_equal ["place", 41], [type, pages.former.get(1, 3)]
    slot.retire
    slot.leave(new, nil, 3.0, within: 60)
  end

  test "a slot that is removed while it waits for a process keeps no descriptor" do
    before = Dir.children("/proc/self/fd").size
    slot = Skep::Swarm::Nodes::Slot.new(0, 0, progress_cells: 2)
    slot.launch(process = Skep::Swarm::Nodes::NodeProcess.new(0, slot, nil, 1.0))
    Pages.open(slot.hand_over(process)).tap { |pages| write(pages.own, 41) }.close
    slot.leave(process, nil, 2.0, within: 60)
    assert_equal before + 1, Dir.children("/proc/self/fd").size
    slot.retire
    assert_equal before, Dir.children("/proc/self/fd").size
  end

  test "keeps no descriptor after its close" do
    before = Dir.children("/proc/self/fd").size
    slot_pages = Skep::Swarm::Nodes::SlotPages.new(2)
    2.times do |number|
      Pages.open(slot_pages.take_over(number)).tap { |pages| write(pages.own, 1) }.close
      slot_pages.leave(number)
    end
    Pages.open(slot_pages.take_over(2)).close
    slot_pages.close
    assert_equal before, Dir.children("/proc/self/fd").size
  end

  private

  def take_over(process) = Pages.open(@slot_pages.take_over(process)).tap { |one| @opened << one }

  def write(page, word)
    page.set(1, 3, word)
    Pages.publish(page, 1)
  end
end
