# frozen_string_literal: true

# Makes signals readable: a trap handler writes one byte to a pipe and does nothing else.
#
#   signals = SelfPipe.new(%w[TERM INT QUIT])
#   signals.to_io                # readable when one has come
#   signals.take                 # => ["TERM"], in the order they came
#   signals.take_with_times      # => [["TERM", 1012.5]]: and when, by Skep::OS.now
#   signals.release              # restores the handlers that were there before
#
# A fork inherits the handlers. In a fork of skep's own, `SelfPipe.with_inherited_handlers { fork
# }`, they keep the signals that come before the child has a SelfPipe of its own, which begins with
# those: `SelfPipe.new(names, inherited:)`. No signal is lost, none is handled twice. In any other
# fork, such as one of the user's work, the handlers of before are restored at once.
#
# `SelfPipe.new(names, unless_handled: %w[HUP])` also takes HUP, as long as the application has no
# handler for it.
module Skep
  class Swarm
    module Runtime
      class SelfPipe
        HANDING_ON = :skep_signals_handing_on
        private_constant :HANDING_ON

        class << self
          # Runs the block. A child that this thread forks in it keeps the handlers until it has its
          # own.
          def with_inherited_handlers
            Thread.current.thread_variable_set(HANDING_ON, true)
            yield
          ensure
            __taken_over
          end

          def handing_on?
            Thread.current.thread_variable_get(HANDING_ON) ? true : false
          end

          def __taken_over
            Thread.current.thread_variable_set(HANDING_ON, nil)
          end
        end

        def initialize(names, unless_handled: [], inherited: nil)
          SelfPipe.__taken_over
          @always = names
          @names = names = names + unless_handled
          @handlers = {}
          @pid = Process.pid
          @reader, @writer = OS.pipe
          @early = []
          @overflow = []
          @times = []
          @previous = @always.to_h { |name| [name, install(name)] }
          unless_handled.each { |name| install_unless_handled(name, inherited) }
          @previous.merge!(inherited.__previous.slice(*@previous.keys)) if inherited
          @in_forks = Skep.on_fork(child: -> { leave_alone unless SelfPipe.handing_on? })
          inherited&.__early&.each do |name|
            deliver(name, names.index(name)) if names.include?(name)
          end
        end

        def to_io = @reader

        # Returns the names of the signals that have come since the last call.
        def take = take_with_times.map(&:first)

        # The same, each with the time at which it came.
        def take_with_times
          names = read
          names.zip(@times.shift(names.size))
        end

        # Installs the handlers again, in place of the application's.
        def reinstall = @always.each { |name| install(name) }

        # Restores the handlers that were there before, and closes the pipe.
        def release
          forget
          [@reader, @writer].each { |io| io.close unless io.closed? }
        end

        # Ignores the signals until the process ends.
        def ignore = @always.each { |name| Signal.trap(name, "IGNORE") }

        # Closes the pipe of the parent, in the child that inherited it.
        def close_in_child
          @in_forks.cancel
          [@reader, @writer].each(&:close)
        end

        def __early = @early
        def __previous = @previous
        def __handler?(name, handler) = @handlers[name].equal?(handler)

        private

        def read
          bytes = @reader.read_nonblock(65_536, exception: false)
          overflow = @overflow.shift(@overflow.size)
          return overflow unless bytes.is_a?(String)

          bytes.each_byte.map { |index| @names[index] } + overflow
        end

        # In a fork that isn't skep's: sends it again what came before, for its own handlers.
        def leave_alone
          forget
          own = OS::Pidfd.open(Process.pid) if @early.any?
          @early.each { |name| own.signal(name) }
        ensure
          own&.close
        end

        def forget
          @in_forks.cancel
          @previous.each { |name, handler| Signal.trap(name, handler || "DEFAULT") }
        end

        def install(name)
          index = @names.index(name)
          Signal.trap(name, @handlers[name] = proc { deliver(name, index) })
        end

        def install_unless_handled(name, inherited)
          previous = install(name)
          free = [nil, "DEFAULT", "SYSTEM_DEFAULT"].include?(previous)
          if free || inherited&.__handler?(name, previous)
            @previous[name] = previous
          else
            Signal.trap(name, previous)
          end
        end

        def deliver(name, index)
          return @early << name unless Process.pid == @pid

          @times << OS.now # first: a handler may run inside of `take`
          @overflow << name if @writer.write_nonblock(index.chr, exception: false) == :wait_writable
        end

        # Distinguishes a second request to stop from one that was delivered twice. Pure.
        #
        #   repeated_stop = RepeatedStop.new
        #   repeated_stop.of("INT", now)     # => :first; later :again, or :same
        #
        # timeout(1) and shells send a signal both to the process and to its group. Ctrl-C under
        # foreman reaches the whole group as INT, and foreman then sends TERM to it.
        class RepeatedStop
          SAME_SECONDS = 0.05
          FOREMAN_SECONDS = 1.0
          private_constant :SAME_SECONDS, :FOREMAN_SECONDS

          def of(name, now)
            if @first.nil?
              @first, @last_at = name, now
              return :first
            end

            foreman = @first == "INT" && name == "TERM"
            same = now - @last_at < (foreman ? FOREMAN_SECONDS : SAME_SECONDS)
            @last_at = now unless same
            same ? :same : :again
          end
        end
      end
    end
  end
end
