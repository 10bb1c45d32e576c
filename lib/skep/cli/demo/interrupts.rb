# frozen_string_literal: true

# The signals that end a demo before its time.
#
#   interrupts = Interrupts.new
#   interrupts.to_io               # readable when one came
#   interrupts.each { |name| … }   # those that have come: the first asks, another one insists
#   interrupts.close
module Skep
  module CLI
    class Demo
      class Interrupts
        NAMES = %w[INT TERM HUP].freeze
        SAME_SECONDS = 0.05 # so soon it is the same signal: timeout(1) sends to process and group
        private_constant :NAMES, :SAME_SECONDS

        def initialize = @signals = Swarm::Runtime::SelfPipe.new(NAMES) #: () -> void
        def to_io = @signals.to_io #: () -> IO
        def close = @signals.release #: () -> void

        def each #: () { (String) -> void } -> void
          @signals.take.each do |name|
            now = OS.now
            yield name unless @last && now - @last < SAME_SECONDS
            @last = now
          end
        end
      end
      private_constant :Interrupts
    end
  end
end
