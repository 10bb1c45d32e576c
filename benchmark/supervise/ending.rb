# frozen_string_literal: true

require "socket"

# A stop by TERM while a worker runs a job that doesn't end.
#
#   Ending.new(run).share(5)       # => % of a processor that the supervisor uses in these seconds
#   Ending.new(run).forced(10)     # => seconds from a second TERM until no process is left
#
# A request makes the workers of a web server busy; others are busy from the start.
module Skep
  module Benchmarks
    class Supervise
      class Ending
        REQUEST = "GET / HTTP/1.1\r\nHost: skep\r\nConnection: close\r\n\r\n"
        private_constant :REQUEST

        def initialize(run)
          @run = run
        end

        def share(seconds)
          ask_to_end do
            before = cpu([@run.pid, *@run.others])
            @run.settle(seconds)
            still_there
            after = cpu(before.keys & [@run.pid, *@run.others])
            after.sum { |pid, used| used - before[pid] } * 100 / seconds
          end
        end

        def forced(patience)
          ask_to_end do
            all = [@run.pid, *@run.below].map { |pid| Skep.pidfd(pid) }
            @run.rest
            still_there
            @run.end!(:TERM)
            @run.seconds_to_exit(all, patience) or never(all, patience)
          ensure
            all&.each(&:close)
          end
        end

        private

        def cpu(pids) = pids.to_h { |pid| [pid, ProcessTree.cpu(pid)] }

        def ask_to_end
          busy = start
          @run.rest
          @run.end!(:TERM)
          yield
        ensure
          busy&.close
        end

        # Returns the connection that must stay open meanwhile.
        def start
          socket = request if @run.server.web?
          @run.await(1, word: "busy")
          socket
        end

        def request
          @run.await(@run.wishes[:workers])
          UNIXSocket.new("#{@run.folder}/socket").tap { |socket| socket.write(REQUEST) }
        end

        def still_there
          return if @run.pidfd.alive?

          raise Subject::Never, "ends at once: it doesn't wait for its workers"
        end

        def never(all, patience)
          raise Subject::Never, "#{all.count(&:alive?)} of #{all.size} processes never " \
                                  "within #{patience} s"
        end
      end
    end
  end
end
