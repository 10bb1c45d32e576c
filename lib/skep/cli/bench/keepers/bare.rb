# frozen_string_literal: true

# What anybody would write first, and the least that can be done: reap, fork again.
require_relative "errand"

def bear
  fork do
    Errand.begin
    Errand.work
  end
end

Errand.preload
Errand.count.times { bear }
loop do
  Process.wait
  bear
end
