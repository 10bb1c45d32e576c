# frozen_string_literal: true

module Skep
  module Threads
    # A named thread with an inbox that restarts after a fork or an error.
    #
    #   mailer = Background.new("mailer") { |inbox| inbox.each { |mail| deliver(mail) } }
    #   mailer.push(mail)               # starts the thread first, if it isn't running
    #   mailer.close(timeout: 5)        # => true: the inbox is empty and the block has returned
    #
    # Worker runs the thread; RestartInChild starts it in forked children if it is `:eager`;
    # Registry lists what has to finish at exit.
    #
    # The thread starts at once and is named "skep.mailer". The block must return when its inbox is
    # closed and empty, as `each` does; a block that returns earlier is called again at the next
    # push. An error in the block goes to the reporter; the item in progress is lost, and the block
    # is called again after a backoff. The same happens after a Thread#kill. When the process exits,
    # the items in the inbox are processed first, for up to `drain` seconds. skep never kills the
    # thread. docs/reference/threads.md lists what survives which event.
    class Background
      # Drains the Backgrounds of this process as an exit would. Call it before exit!.
      def self.drain = Registry.drain

      attr_reader :name # the thread's: `skep.NAME`

      # `restart` is when a forked child starts the thread: `:lazy`, at its first push or start;
      # `:eager`, at once; `:never`. `limit`, `full` and `inherit` are the inbox' (see
      # Inbox::Options). `drain` is how many seconds an exiting process waits, 0 for none.
      # `reporter` receives `call(error, who)` for errors that have no caller.
      def initialize(name, restart: :lazy, limit: nil, full: :block, inherit: :parent, drain: 5,
                     reporter: Fork::Reporter, &block)
        raise ArgumentError, "the background thread #{name} needs a block to run" unless block

        @name = "skep.#{name}"
        @drain = drain || 0
        @limit = limit
        @inbox = Inbox.new(limit:, full:, inherit:)
        @worker = Worker.new(@name, @inbox, reporter, &block)
        restart_by(restart)
        @worker.start
        Registry.add(self)
      end

      # Starts the thread if it isn't running, as in a forked child. Raises Background::Closed, and
      # WrongProcess in a child with `restart: :never`.
      def start
        raise WrongProcess, name if wrong_process?
        raise Closed, name if @inbox.closed?

        @worker.start
        self
      end

      # Puts an item into the inbox. If that is full, waits for up to `timeout` seconds (nil: no
      # limit); inside the thread's own block, which would wait for itself, it doesn't wait. Raises
      # the errors of #start, and Inbox::Full.
      def push(item, timeout: nil)
        raise WrongProcess, name if @home && wrong_process?

        refusal = @limit ? push_within(timeout, item) : @inbox.__push(item)
        raise refusal == :full ? full : Closed.new(name) if refusal

        @worker.start
        self
      end

      # Accepts no more items, and waits up to `timeout` seconds (nil: no limit) until the inbox is
      # empty and the block has returned. Returns false after the timeout, or if the block raised
      # and left items in the inbox.
      def close(timeout: nil)
        deadline = timeout && (OS.now + timeout)
        @inbox.close
        @restart&.cancel
        @worker.start unless @inbox.empty? || wrong_process?
        @worker.join(deadline) unless @worker.current?
        report_drops(at_last: true)
        !alive? && @inbox.empty?
      end

      # Returns true if its thread runs in this process.
      def alive? = @worker.alive?

      # Returns how many items this process has dropped because the inbox was full.
      def dropped = @inbox.dropped

      def inspect
        "#<#{self.class} #{name} #{alive? ? "alive" : "not running"}, #{@inbox.size} in its inbox>"
      end

      # Starts the thread in a forked child.
      def __restart
        @worker.start unless @inbox.closed?
      end

      # Closes it at the exit of the process, whose wait for all began at `began`. Doesn't wait if
      # it never had an item.
      def __drain(began)
        @inbox.close
        report_drops(at_last: true)
        return if wrong_process? || !@drain.positive? || (@inbox.empty? && @inbox.__popped.zero?)

        done = close(timeout: began + @drain - OS.now)
        @worker.report(DrainTimeout.new(@inbox.size, @drain)) unless done
      rescue SystemExit
        nil # The block called exit; the process is exiting.
      end

      private

      def restart_by(restart)
        case restart
        when :lazy then nil
        when :eager then @restart = RestartInChild.new(self)
        when :never then @home = OS::Generation.count
        else
          raise ArgumentError, "restart: is one of [:lazy, :eager, :never], not #{restart.inspect}"
        end
      end

      def wrong_process? = @home && @home != OS::Generation.count

      # Starts the thread before it waits: else no thread would take items.
      def push_within(timeout, item)
        @worker.start if @inbox.full? && !@inbox.closed?
        @inbox.__push(item, @worker.current? ? 0 : timeout)
      ensure
        report_drops
      end

      def full = Inbox::Full.new("the inbox of #{name}", @limit)

      def report_drops(at_last: false)
        return if @inbox.dropped.zero?

        count = @inbox.__unreported_drops(at_last:)
        @worker.report(ItemsDropped.new(count)) if count
      end
    end
  end
end
