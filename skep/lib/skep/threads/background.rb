# frozen_string_literal: true

module Skep
  module Threads
    # A named thread with an inbox that restarts after a fork or an error.
    #
    #   mailer = Background.new("mailer") { |inbox| inbox.each { |mail| deliver(mail) } }
    #   mailer.push(mail)               # starts the thread first, if it isn't running
    #   mailer.close(timeout: 5)        # => true: the inbox is empty and the block has returned
    #
    # Worker runs the thread; Registry knows which start in a forked child, and finish at exit.
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

      # Returns true if the process exits and they are drained. Ruby kills all threads then.
      def self.over? = Registry.over?

      RESTARTS = %i[lazy eager never].freeze
      private_constant :RESTARTS

      attr_reader :name # the thread's: `skep.NAME`

      # `restart` is when a forked child starts the thread: `:lazy`, at its first push or start;
      # `:eager`, at once; `:never`. `drain` is how many seconds an exiting process waits, 0 for
      # none. `reporter` receives `call(error, who)` for errors that have no caller.
      def initialize(name, restart: :lazy, drain: 5, reporter: Fork::Reporter, &block)
        raise ArgumentError, "the background thread #{name} needs a block to run" unless block
        unless RESTARTS.include?(restart)
          raise ArgumentError, "restart: is one of #{RESTARTS}, not #{restart.inspect}"
        end

        @name = "skep.#{name}"
        @drain = drain || 0
        @restart = restart
        @home = OS::Generation.count
        @inbox = Inbox.new
        @worker = Worker.new(@name, @inbox, reporter, &block)
        @worker.start
        Registry.add(self, eager: restart == :eager)
      end

      # Starts the thread if it isn't running, as in a forked child. Raises Background::Closed, and
      # WrongProcess in a child with `restart: :never`.
      def start
        raise WrongProcess, name if wrong_process?
        raise Closed, name if @inbox.closed?

        @worker.start
        self
      end

      # Puts an item into the inbox. Raises the errors of #start.
      def push(item)
        raise WrongProcess, name if wrong_process?
        raise Closed, name unless @inbox.__push(item)

        @worker.start
        self
      end

      # Accepts no more items, and waits up to `timeout` seconds (nil: no limit) until the inbox is
      # empty and the block has returned. Returns false after the timeout, or if the block raised
      # and left items in the inbox.
      def close(timeout: nil)
        deadline = timeout && (OS.now + timeout)
        @inbox.close
        @worker.start unless @inbox.empty? || wrong_process?
        @worker.join(deadline) unless @worker.current?
        !alive? && @inbox.empty?
      end

      # Returns true if its thread runs in this process.
      def alive? = @worker.alive?

      def inspect
        "#<#{self.class} #{name} #{alive? ? "alive" : "not running"}, #{@inbox.size} in its inbox>"
      end

      # Starts the thread in a forked child with `restart: :eager`.
      def __restart
        @worker.start if @restart == :eager && !@inbox.closed?
      end

      # Closes it at the exit of the process, whose wait for all began at `began`. Doesn't wait if
      # it never had an item.
      def __drain(began)
        @inbox.close
        return if wrong_process? || !@drain.positive? || (@inbox.empty? && @inbox.__popped.zero?)

        done = close(timeout: began + @drain - OS.now)
        @worker.report(DrainTimeout.new(@inbox.size, @drain)) unless done
      rescue SystemExit
        nil # The block called exit; the process is exiting.
      end

      private

      def wrong_process? = @restart == :never && @home != OS::Generation.count
    end
  end
end
