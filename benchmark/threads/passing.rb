# frozen_string_literal: true

# A thread that waits by Thread.pass. skep itself never waits like this.
module Passing
  def self.forever
    loop { Thread.pass }
  end

  # Counts in a thread until the block returns true, with Thread.pass after each step.
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
