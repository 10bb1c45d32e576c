# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Ruby's threads, of which a child gets only the one that forks.
      class RubyThreads
        WHAT = "Ruby threads"

        # Said by Puma's and Rails' threads too; the second is how Ruby's own Timeout marks the
        # thread it starts anew.
        SAFE = [:fork_safe, :"\0__detached_thread__"].freeze
        ADVICE = "a child won't have it: end it before the fork, and start it in the child, " \
                 "by Skep.on_fork for one"

        # concurrent-ruby's pools look at their pid at each job, and in a child begin anew.
        POOL = %r{/concurrent/executor/ruby_thread_pool_executor\.rb:\d+\z}
        POOL_ADVICE = "concurrent-ruby starts its pool anew in a child, without the jobs in hand " \
                      "and in the queue: see that none is needed there"

        # Ruby's own: a class of threads may have others.
        INSPECT, NAME = %i[inspect name].map { |name| Thread.instance_method(name) }
        private_constant :SAFE, :ADVICE, :POOL, :POOL_ADVICE, :INSPECT, :NAME

        #: (ProcessInventory) -> void
        def initialize(_inventory); end

        #: () -> Array[Finding]
        def findings
          lost = Thread.list.reject { |thread| thread == Thread.current || safe?(thread) }
          lost.map do |thread|
            where = origin(thread)
            severity, advice = renewed?(where) ? [:note, POOL_ADVICE] : [:breaks, ADVICE]
            what = "the Ruby thread #{name(thread)&.inspect || "without a name"}"
            Finding.new(kind: :ruby_thread, severity:, what:, where:, advice:)
          end
        end

        private

        #: (Thread) -> bool
        def safe?(thread) = SAFE.any? { |mark| thread.thread_variable_get(mark) }

        # Does it belong to a pool that comes back, as concurrent-ruby's do that know of forks?
        #
        #: (String where) -> bool
        def renewed?(where)
          where.match?(POOL) &&
            ::Concurrent::RubyThreadPoolExecutor.private_method_defined?(:ns_reset_if_forked)
        end

        # Thread#inspect alone tells where a thread was made: "#<Thread:0x1f@name app.rb:12 run>".
        #
        #: (Thread) -> String
        def origin(thread)
          return "the main thread" if thread == Thread.main

          told = text(INSPECT.bind_call(thread))
          place = told[/\A#<[^ @]+(?:@#{Regexp.escape(name(thread).to_s)})? (.+:\d+) \w+>\z/m, 1]
          place ? "started at #{place}" : "started in C"
        end

        #: (Thread) -> String?
        def name(thread) = (name = NAME.bind_call(thread)) && text(name)

        # Names and paths are of any encoding, or of none.
        #
        #: (String) -> String
        def text(string) = string.dup.force_encoding(Encoding::UTF_8).scrub
      end
      private_constant :RubyThreads
    end
  end
end
