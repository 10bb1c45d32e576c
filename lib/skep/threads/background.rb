# frozen_string_literal: true

module Skep
  module Threads
    # A named thread with an inbox, that comes back by itself where a fork or an error took it away.
    #
    #   mailer = Background.new("mailer") { |inbox| inbox.each { |mail| deliver(mail) } }
    #   mailer.push(mail)               # starts the thread again first, if it isn't there
    #   mailer.close(timeout: 5)        # => true: all was taken, and the block has ended
    #
    # It runs at once. Its thread is called "skep.mailer". The block is to end when its inbox is
    # closed and empty, as `each` does; one that ends before is called again at the next push. What
    # it raises goes to the reporter: the item it held then is lost, and it is called again, after a
    # pause that grows from error to error; so it is after a Thread#kill. What is still in the inbox
    # when the process exits is done first, for as long as `drain` says. It is never killed by us.
    # docs/threads.md tells what survives what.
    class Background
      # Does with the Backgrounds of this process what an exit would, for one that is about to end
      # by exit!.
      #
      #: () -> void
      def self.drain = Registry.drain

      attr_reader :name #: String, as in the thread's, `skep.NAME`

      # `restart` says when a forked child has a thread of its own: `:lazy`, from its first push or
      # start on; `:eager`, at once; `:never`. `limit`, `full` and `inherit` are the inbox' (see
      # Inbox::Options). `drain` is how many seconds an exiting process waits for it, 0 for none.
      # `reporter` gets `call(error, who)` for what nobody else would see.
      #
      #: (String | Symbol name, ?restart: Symbol, ?limit: Integer?, ?full: Symbol, ?inherit: Symbol,
      #:   ?drain: Numeric, ?reporter: untyped) { (Inbox) -> void } -> void
      def initialize(name, restart: :lazy, limit: nil, full: :block, inherit: :parent, drain: 5,
                     reporter: Fork::Reporter, &block)
        raise ArgumentError, "the background thread #{name} needs a block to run" unless block

        @name = "skep.#{name}"
        @drain = drain || 0
        @limit = limit
        @inbox = Inbox.new(limit:, full:, inherit:)
        @worker = Worker.new(@name, @inbox, reporter, &block)
        survive(restart)
        @worker.start
        Registry.add(self)
      end

      # Starts the thread where it isn't running, as in a forked child. Raises Background::Closed,
      # and WrongProcess in a child of `restart: :never`.
      #
      #: () -> self
      def start
        raise WrongProcess, name if elsewhere?
        raise Closed, name if @inbox.closed?

        @worker.start
        self
      end

      # Puts an item into the inbox, where that is full waiting at most so many seconds, for ever by
      # default; in the thread's own block, which would wait for itself, not at all. Raises what
      # start does, and Inbox::Full.
      #
      #: (untyped item, ?timeout: Numeric?) -> self
      def push(item, timeout: nil)
        raise WrongProcess, name if @home && elsewhere?

        refusal = @limit ? push_within(timeout, item) : @inbox.__push(item)
        raise refusal == :full ? full : Closed.new(name) if refusal

        @worker.start
        self
      end

      # Lets nothing more in, then waits at most so many seconds, for ever by default, until what is
      # in was taken and the block has ended. False when the time was too short, or the block raised
      # and left items behind.
      #
      #: (?timeout: Numeric?) -> bool
      def close(timeout: nil)
        deadline = timeout && (OS.now + timeout)
        @inbox.close
        @restart&.cancel
        @worker.start unless @inbox.empty? || elsewhere?
        @worker.join(deadline) unless @worker.current?
        tell_drops(at_last: true)
        !alive? && @inbox.empty?
      end

      # Has it a thread in this process now?
      #: () -> bool
      def alive? = @worker.alive?

      # How many items were thrown away in this process, to make room.
      #
      #: () -> Integer
      def dropped = @inbox.dropped

      #: () -> String
      def inspect
        "#<#{self.class} #{name} #{alive? ? "alive" : "not running"}, #{@inbox.size} in its inbox>"
      end

      # In a forked child, where it is to be at once.
      #
      #: () -> void
      def __revive
        @worker.start unless @inbox.closed?
      end

      # At the end of the process, which began then to wait for all. One that was never given
      # anything isn't waited for, and none is given anything from now on.
      #
      #: (Float began) -> void
      def __drain(began)
        @inbox.close
        tell_drops(at_last: true)
        return if elsewhere? || !@drain.positive? || (@inbox.empty? && @inbox.__popped.zero?)

        done = close(timeout: began + @drain - OS.now)
        @worker.tell(DrainTimeout.new(@inbox.size, @drain)) unless done
      rescue SystemExit
        nil # The thread's own, and the process is ending.
      end

      private

      #: (Symbol restart) -> void
      def survive(restart)
        case restart
        when :lazy then nil
        when :eager then @restart = RestartInChild.new(self)
        when :never then @home = OS::Generation.count
        else
          raise ArgumentError, "restart: is one of [:lazy, :eager, :never], not #{restart.inspect}"
        end
      end

      #: () -> boolish
      def elsewhere? = @home && @home != OS::Generation.count

      # Nobody is to wait for room that no thread would make.
      #
      #: (Numeric? timeout, untyped item) -> Symbol?
      def push_within(timeout, item)
        @worker.start if @inbox.full? && !@inbox.closed?
        @inbox.__push(item, @worker.current? ? 0 : timeout)
      ensure
        tell_drops
      end

      #: () -> Inbox::Full
      def full = Inbox::Full.new("the inbox of #{name}", @limit)

      #: (?at_last: bool) -> void
      def tell_drops(at_last: false)
        return if @inbox.dropped.zero?

        count = @inbox.__drops_untold(at_last:)
        @worker.tell(ItemsDropped.new(count)) if count
      end
    end
  end
end
