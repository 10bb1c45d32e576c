# frozen_string_literal: true

# What keeps a listening socket from letting in more than this process has room for: further clients
# wait in the socket's queue until others have gone.
#
#   listener.extend(Gate)
#   listener.guard(stop)      # readable at the end of it
#   listener.accept_nonblock
module Skep
  module Watch
    module Metrics
      module Gate
        MOST = 1_000
        FULL_SECONDS = 0.05
        FEW = 32
        private_constant :MOST, :FULL_SECONDS, :FEW

        def guard(stop) #: (IO) -> void
          @stop = stop
          @open = []
          @sweep_at = FEW
        end

        # Without a descriptor, too, it would be tried again at once, and again.
        def accept_nonblock(**) #: (**untyped) -> BasicSocket
          await_room if full?
          super.tap { |client| @open << client }
        rescue Errno::EMFILE, Errno::ENFILE
          @stop.wait_readable(FULL_SECONDS)
          raise
        end

        private

        # Those that have gone are forgotten before there are twice as many.
        def full?
          return false if @open.size < @sweep_at

          @open.reject!(&:closed?)
          @sweep_at = (@open.size * 2).clamp(FEW, MOST)
          @open.size >= MOST
        end

        def await_room
          nil while full? && !@stop.wait_readable(FULL_SECONDS)
        end
      end
      private_constant :Gate
    end
  end
end
