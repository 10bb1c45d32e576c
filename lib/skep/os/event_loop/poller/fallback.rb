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

          #: () -> void
          def attach; end

          #: (Entry) -> void
          def enter(_entry); end

          #: (Entry) -> void
          def alter(_entry); end

          #: (Entry) -> void
          def leave(_entry); end

          #: () -> void
          def release; end

          #: (Numeric? seconds) -> Array[[untyped, bool, bool]]
          def ready(seconds)
            forget_closed
            reads, writes = select(seconds) || ReadyNow.again { |least| select(least) }
            return [] unless reads

            @entries.each_value.filter_map { |entry| verdict(entry, reads, writes) }
          end

          #: (Numeric? seconds) -> Array[Array[IO]]?
          def select(seconds) = IO.select(ios(&:read), ios(&:write), nil, seconds)

          #: () { (Entry) -> bool } -> Array[IO]
          def ios(&wanted) = @entries.each_value.select(&wanted).map(&:io)

          #: (Entry, Array[IO], Array[IO]) -> [untyped, bool, bool]?
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
