# frozen_string_literal: true

module Skep
  module Threads
    # A named thread with an inbox, that comes back by itself where a fork or an error took it away.
    #
    #   mailer = Background.new("mailer") { |inbox| inbox.each { |mail| deliver(mail) } }
    #   mailer.push(mail)               # starts the thread again first, if it isn't there
    #   mailer.close(timeout: 5)        # => true: all was taken, and the block has ended
    #
    # It runs at once. Its thread is called "skep.mailer". What the block raises goes to the
    # reporter; the item it held then is lost, those still in the inbox aren't: the block is called
    # again for them, unless it took none. A block that ended for good is called again at the next
    # push or start. In a forked child the inbox begins empty. A process that exits doesn't wait
    # for it: close it first. It is never killed.
    class Background
      attr_reader :name #: String

      # `reporter` gets `call(error, who)` when the block raises.
      #
      #: (String | Symbol name, ?reporter: untyped) { (Inbox) -> void } -> void
      def initialize(name, reporter: Fork::Reporter, &block)
        raise ArgumentError, "the background thread #{name} needs a block to run" unless block

        @name = "skep.#{name}"
        @reporter = reporter
        @block = block
        @inbox = Inbox.new
        @lock = Mutex.new # Ruby frees it in a forked child whose parent's other thread held it.
        @working = false
        start
      end

      # Starts the thread where it isn't running: in a forked child, or after an error.
      #
      #: () -> self
      def start
        @lock.synchronize { @thread = run unless @working && alive? }
        self
      end

      # Raises Inbox::Closed once closed.
      #
      #: (untyped item) -> self
      def push(item)
        @inbox.push(item)
        start
      end

      # Lets nothing more in, then waits at most so many seconds, for ever by default, until what is
      # in was taken and the block has ended. False when the time was too short, or the block raised
      # and left items behind.
      #
      #: (?timeout: Numeric?) -> bool
      def close(timeout: nil)
        @inbox.close
        start unless @inbox.empty?
        @thread.join(timeout) unless @thread == Thread.current
        !alive? && @inbox.empty?
      end

      #: () -> bool
      def alive? = !@thread.nil? && @thread.alive?

      #: () -> String
      def inspect
        "#<#{self.class} #{name} #{alive? ? "alive" : "not running"}, #{@inbox.size} in its inbox>"
      end

      private

      #: () -> Thread
      def run
        @working = true
        thread = Thread.new { work }
        thread.name = name
        thread.thread_variable_set(:fork_safe, true) # Says to Fork::Guard: it comes back by itself.
        thread
      end

      #: () -> void
      def work
        Thread.current.report_on_exception = false
        loop do
          popped = @inbox.__popped
          call
          break unless go_on?(popped)
        end
      end

      # Asked under the lock: what is pushed from now on either is seen here or starts a new thread.
      #
      #: (Integer popped) -> bool
      def go_on?(popped)
        @lock.synchronize { @working = !@inbox.empty? && @inbox.__popped > popped }
      end

      #: () -> void
      def call
        @block.call(@inbox)
      rescue SystemExit, SignalException
        raise # Meant for the process: Ruby hands it to the main thread.
      rescue Exception => error # rubocop:disable Lint/RescueException -- or nobody would see it
        Fork::Reporter.tell(@reporter, error, "the thread #{name}")
      end
    end
  end
end
