# frozen_string_literal: true

# What a thread does that waits by Thread.pass; nowhere else does skep wait like this.
module Passing
  #: () -> bot
  def self.for_ever
    loop { Thread.pass }
  end

  # Counts up in a thread until the block says that it is over, and lets others run each time.
  #: () { () -> bool } -> Thread
  def self.counter
    Thread.new do
      turns = 0
      until yield
        turns += 1
        Thread.pass
      end
      turns
    end
  end
end
