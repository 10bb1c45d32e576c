# frozen_string_literal: true

module Skep
  module Fork
    # Looks for what doesn't survive a fork: threads, Ruby's and others', of which a child gets only
    # the one that forks.
    #
    #   Guard.check.each { |finding| warn finding.to_s }
    #
    # Changes nothing and refuses nothing: what to do with a finding is the caller's to decide. A
    # thread that knows how to come back in a child says so by a thread variable,
    # `thread_variable_set(:fork_safe, true)`, and is passed over. It sees threads only, not sockets
    # or native handles; where there is no /proc, Ruby's threads only.
    module Guard
      # Said by Puma's and Rails' threads too; the second is how Ruby's own Timeout marks the thread
      # it starts anew.
      SAFE = [:fork_safe, :"\0__detached_thread__"].freeze

      RUBY_ADVICE = "a child won't have it: end it before the fork, and start it in the child, " \
                    "by Skep.on_fork for one"
      NATIVE_ADVICE = "a child won't have it, and its library will wait for it in vain: " \
                      "make that library's clients after the fork, or close them before it"
      private_constant :SAFE, :RUBY_ADVICE, :NATIVE_ADVICE

      # What a fork by the calling thread would lose.
      #
      #: () -> Array[Finding]
      def self.check = ruby_threads + native_threads

      #: () -> Array[Finding]
      def self.ruby_threads
        lost = Thread.list.reject { |thread| thread == Thread.current || safe?(thread) }
        lost.map do |thread|
          what = "the Ruby thread #{thread.name&.inspect || "without a name"}"
          Finding.new(kind: :ruby_thread, what:, where: origin(thread), advice: RUBY_ADVICE)
        end
      end

      #: () -> Array[Finding]
      def self.native_threads
        NativeThread.strangers.map do |thread|
          Finding.new(kind: :native_thread, what: "the native thread #{thread.name.inspect}",
                      where: "task #{thread.tid} of pid #{Process.pid}", advice: NATIVE_ADVICE)
        end
      end

      #: (Thread) -> bool
      def self.safe?(thread) = SAFE.any? { |mark| thread.thread_variable_get(mark) }

      # Thread#inspect alone tells where a thread was made: "#<Thread:0x1f@name app.rb:12 run>".
      #
      #: (Thread) -> String
      def self.origin(thread)
        return "the main thread" if thread == Thread.main

        text = thread.inspect.scrub
        name = "@#{thread.name}".scrub
        place = text[/\A#<[^ @]+(?:#{Regexp.escape(name)})? (.+:\d+) \w+>\z/m, 1]
        place ? "started at #{place}" : "started in C"
      end
      private_class_method :ruby_threads, :native_threads, :safe?, :origin
    end
  end
end
