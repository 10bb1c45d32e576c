# frozen_string_literal: true

require "socket"

# A stop by TERM, while a worker has a job that doesn't end.
#
#   Ending.new(kept).share(5)       # => % of a processor that the supervisor takes in these seconds
#   Ending.new(kept).forced(10)     # => seconds from a second TERM until nothing is left
#
# Where the keeper is a web server its workers get busy by a request; else they are by themselves.
module Skep
  module CLI
    class Bench
      class Supervise
        class Ending
          REQUEST = "GET / HTTP/1.1\r\nHost: skep\r\nConnection: close\r\n\r\n"
          private_constant :REQUEST

          def initialize(kept) #: (Keeping) -> void
            @kept = kept
          end

          def share(seconds) #: (Numeric) -> Float
            ask_to_end do
              before = cpu([@kept.pid, *@kept.others])
              @kept.settle(seconds)
              still_there
              after = cpu(before.keys & [@kept.pid, *@kept.others])
              after.sum { |pid, used| used - before[pid] } * 100 / seconds
            end
          end

          def forced(patience) #: (Numeric) -> Float
            ask_to_end do
              all = [@kept.pid, *@kept.below].map { |pid| Skep.pidfd(pid) }
              @kept.rest
              still_there
              @kept.end!(:TERM)
              @kept.gone(all, patience) or never(all, patience)
            ensure
              all&.each(&:close)
            end
          end

          private

          def cpu(pids) = pids.to_h { |pid| [pid, Kin.cpu(pid)] }

          def ask_to_end
            busy = start
            @kept.rest
            @kept.end!(:TERM)
            yield
          ensure
            busy&.close
          end

          # Returns what has to be kept open meanwhile.
          def start
            socket = request if @kept.keeper.web?
            @kept.await(1, word: "busy")
            socket
          end

          def request
            @kept.await(@kept.wishes[:workers])
            UNIXSocket.new("#{@kept.folder}/socket").tap { |socket| socket.write(REQUEST) }
          end

          def still_there
            return if @kept.pidfd.alive?

            raise Contender::Never, "ends by itself: it doesn't wait for its workers"
          end

          def never(all, patience)
            raise Contender::Never, "#{all.count(&:alive?)} of #{all.size} processes never " \
                                    "within #{patience} s"
          end
        end
      end
    end
  end
end
