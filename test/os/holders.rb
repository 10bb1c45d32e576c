# frozen_string_literal: true

# RobustLocks of four cells, and children that hold them, for the tests of the os room.
#
#   pid, reader = holder(3) { exit! }             # holds cell 3's lock, and then does that
#   pid, reader, release = waiting_holder(3)      # ends when release is closed
module Holders
  RobustLocks = Skep::OS::RobustLocks

  def setup
    skip "it takes the C, and Linux 5.16" unless RobustLocks.supported?
    @page = Skep::OS::SharedPage.create(4)
    @locks = RobustLocks.new(@page)
    4.times { |cell| @locks.prepare(cell) }
  end

  def teardown
    @page&.close
  end

  private

  # In a child that ends by itself: did the block return true?
  def in_turn
    Process.wait2(in_child { yield || exit(1) }.first).last.success?
  end

  # A child that holds the cell's lock, and then does as the block says.
  def holder(cell)
    pid, reader = in_child do |writer|
      @locks.hold(cell)
      writer.write("up")
      yield
    end
    wait_readable(reader).readpartial(2)
    [pid, reader]
  end

  # One that ends when its pipe is closed.
  def waiting_holder(cell)
    gate, release = IO.pipe
    pid, reader = holder(cell) { release.close || gate.read }
    gate.close
    [pid, reader, release]
  end
end
