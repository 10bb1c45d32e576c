# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Finds Ruby threads. A child has only the thread that forks.
      class RubyThreads
        WHAT = "Ruby threads"

        # Thread variables that mark a thread as fork-safe: the first is also Puma's and Rails';
        # with the second Ruby's Timeout marks the thread that it restarts in a child.
        SAFE = [:fork_safe, :"\0__detached_thread__"].freeze
        ADVICE = "a child won't have it: end it before the fork, and start it in the child, " \
                 "by Skep.on_fork for one"

        # The pools of concurrent-ruby compare their pid at each job, and restart in a child.
        POOL = %r{/concurrent/executor/ruby_thread_pool_executor\.rb:\d+\z}
        POOL_ADVICE = "concurrent-ruby starts its pool again in a child, without the jobs in " \
                      "progress and in the queue: see that none is needed there"

        # Thread's own methods: a subclass may override them.
        INSPECT, NAME = %i[inspect name].map { |name| Thread.instance_method(name) }
        private_constant :SAFE, :ADVICE, :POOL, :POOL_ADVICE, :INSPECT

        RACTOR_ADVICE = "a child won't have it: let it end before the fork, and start it in " \
                        "the child"
        private_constant :RACTOR_ADVICE

        # Returns true for a thread that a C library has started, and that has no name.
        def self.started_in_c?(thread)
          NAME.bind_call(thread).nil? && INSPECT.bind_call(thread).match?(/\A#<[^ @]+ \w+>\z/)
        end

        def initialize(inventory)
          @inventory = inventory
        end

        def findings
          lost = @inventory.ruby_threads.reject { |thread| safe?(thread) }
          [*ractors, *lost.map { |thread| finding(thread) }]
        end

        private

        # Ruby lists the threads of other Ractors to none.
        def ractors
          others = defined?(::Ractor) ? ::Ractor.count - 1 : 0
          return [] unless others.positive?

          [Finding.new(kind: :ruby_thread, what: others == 1 ? "a Ractor" : "#{others} Ractors",
                       where: "pid #{Process.pid}", advice: RACTOR_ADVICE)]
        end

        def finding(thread)
          where = origin(thread)
          severity, advice = restarted?(where) ? [:note, POOL_ADVICE] : [:breaks, ADVICE]
          what = "the Ruby thread #{name(thread)&.inspect || "without a name"}"
          Finding.new(kind: :ruby_thread, severity:, what:, where:, advice:)
        end

        def safe?(thread) = SAFE.any? { |mark| thread.thread_variable_get(mark) }

        # Returns true if the thread belongs to a pool that restarts in a child, as those of
        # concurrent-ruby do since it detects forks.
        def restarted?(where)
          where.match?(POOL) &&
            ::Concurrent::RubyThreadPoolExecutor.private_method_defined?(:ns_reset_if_forked)
        end

        # Only Thread#inspect has the place: "#<Thread:0x1f@name app.rb:12 run>".
        def origin(thread)
          return "the main thread" if thread == Thread.main

          description = text(INSPECT.bind_call(thread))
          named = "(?:@#{Regexp.escape(name(thread).to_s)})?"
          place = description[/\A#<[^ @]+#{named} (.+:\d+) \w+>\z/m, 1]
          place ? "started at #{place}" : "started in C"
        end

        def name(thread) = (name = NAME.bind_call(thread)) && text(name)

        # Names and paths may have any encoding.
        def text(string) = string.dup.force_encoding(Encoding::UTF_8).scrub
      end
      private_constant :RubyThreads
    end
  end
end
