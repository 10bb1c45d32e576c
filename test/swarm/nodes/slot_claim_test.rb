# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# Who follows the holder of a slot, in the supervisor's books and on the page.
class SlotClaimTest < Skep::TestCase
  SlotClaim = Skep::Swarm::Nodes::SlotClaim
  Spare = Struct.new(:page_index, :pid)
  private_constant :SlotClaim, :Spare

  def setup
    skip "it takes the C, and Linux 5.16" unless Skep::OS::RobustLocks.supported?
    @page = Skep::OS::SharedPage.create(1)
    @locks = Skep::OS::RobustLocks.new(@page)
    @spares = { 5 => Spare.new(5, 500), 6 => Spare.new(6, 600) }
    @claim = SlotClaim.new(@locks, 0, @spares)
  end

  def teardown
    @page&.close
  end

  test "is shut at first" do
    assert_equal [nil, false], [@claim.shut, @locks.claim(0, 5)]
  end

  test "knows its claimant until that has been given the slot, opened again or not" do
    @claim.open
    assert @locks.claim(0, 5)
    assert_equal [@spares[5]] * 3, [@claim.shut, @claim.shut, @claim.claimant]
    @claim.given
    assert_nil @claim.shut
  end

  test "has no claimant any more when that has died, followed or not" do
    2.times do |times|
      @claim.open
      @locks.claim(0, 5)
      times.times { @claim.shut }
      assert_equal false, @claim.lose(@spares[6])
      assert_equal [true, nil], [@claim.lose(@spares[5]), @claim.shut]
    end
  end

  test "knows who holds the lock, and frees it from one who is gone without a word" do
    holder = Spare.new(7, in_child { |writer| @locks.hold(0) && writer.write("up") }.first)
    Process.wait(holder.pid)
    assert_equal false, @claim.held_by?(holder)
    @page.set(0, 8, holder.pid) # as if the kernel hadn't released it
    assert @claim.held_by?(holder)
    @claim.free(holder)
    assert_equal [false, nil], [@claim.held_by?(holder), @locks.holder(0)]
  end

  test "can't be had where there are no locks" do
    none = SlotClaim::NONE
    assert_equal [nil, nil, nil, false, false],
                 [none.open, none.shut, none.claimant, none.lose(nil), none.possible?]
  end
end
