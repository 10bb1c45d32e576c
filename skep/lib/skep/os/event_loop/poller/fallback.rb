# frozen_string_literal: true

module Skep
  module OS
    class EventLoop
      class Poller
        # The poller over IO.select. Its limits:
        #
        # - it does not scale to thousands of IOs: each wait passes the whole set to the kernel;
        # - a wait does not notice an IO that another thread adds meanwhile.
        module Fallback
          private

          def attach; end

          def arm(_entry); end

          def release; end

          def ready(seconds)
            forget_closed
            reads, writes = select(seconds) || ReadyNow.again { |least| select(least) }
            return [] unless reads

            @entries.each_value.filter_map { |entry| verdict(entry, reads, writes) }
          end

          def select(seconds) = IO.select(ios(&:read), ios(&:write), nil, seconds)

          def ios(&wanted) = @entries.each_value.select(&wanted).map(&:io)

          def verdict(entry, reads, writes)
            readable = entry.read && reads.include?(entry.io)
            writable = entry.write && writes.include?(entry.io)
            [entry.token, readable, writable] if readable || writable
          end
        end
        private_constant :Fallback
      end
    end
  end
end
