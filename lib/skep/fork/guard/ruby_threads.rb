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
        private_constant :SAFE, :ADVICE

        #: (Survey) -> void
        def initialize(_survey); end

        #: () -> Array[Finding]
        def findings
          lost = Thread.list.reject { |thread| thread == Thread.current || safe?(thread) }
          lost.map do |thread|
            what = "the Ruby thread #{thread.name&.scrub&.inspect || "without a name"}"
            Finding.new(kind: :ruby_thread, what:, where: origin(thread), advice: ADVICE)
          end
        end

        private

        #: (Thread) -> bool
        def safe?(thread) = SAFE.any? { |mark| thread.thread_variable_get(mark) }

        # Thread#inspect alone tells where a thread was made: "#<Thread:0x1f@name app.rb:12 run>".
        #
        #: (Thread) -> String
        def origin(thread)
          return "the main thread" if thread == Thread.main

          text = thread.inspect.scrub
          name = "@#{thread.name}".scrub
          place = text[/\A#<[^ @]+(?:#{Regexp.escape(name)})? (.+:\d+) \w+>\z/m, 1]
          place ? "started at #{place}" : "started in C"
        end
      end
      private_constant :RubyThreads
    end
  end
end
