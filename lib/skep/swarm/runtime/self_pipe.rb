# frozen_string_literal: true

# Signals turned into something a loop can wait for:
# a trap handler writes one byte and does nothing else.
#
#   signals = SelfPipe.new(%w[TERM INT QUIT])
#   signals.to_io                # readable when one came
#   signals.take                 # => ["TERM"], in the order they came
#   signals.release              # the handlers that were there before
#
# A process forked from one that holds a SelfPipe has its handlers. For a fork of skep's own,
# `SelfPipe.with_inherited_handlers { fork }`, the handler keeps what comes before the child has a
# SelfPipe of its own, which begins with it: `SelfPipe.new(names, inherited:)`. No signal is lost,
# none is taken twice. In any other fork, such as one of the user's work, the handlers that were
# there before are put back at once: that process is no node.
module Skep
  class Swarm
    module Runtime
      class SelfPipe
        HANDING_ON = :skep_signals_handing_on
        private_constant :HANDING_ON

        class << self
          # Runs the block, in which the child of a fork by this thread keeps the handlers until it
          # has its own.
          def with_inherited_handlers #: () { () -> Integer } -> Integer
            Thread.current.thread_variable_set(HANDING_ON, true)
            yield
          ensure
            __taken_over
          end

          def handing_on? #: () -> bool
            Thread.current.thread_variable_get(HANDING_ON) ? true : false
          end

          def __taken_over #: () -> void
            Thread.current.thread_variable_set(HANDING_ON, nil)
          end
        end

        def initialize(names, inherited: nil) #: (Array[String], ?inherited: SelfPipe?) -> void
          SelfPipe.__taken_over
          @names = names
          @pid = Process.pid
          @reader, @writer = OS.pipe
          @early = []
          @overflow = []
          @previous = names.to_h { |name| [name, install(name)] }
          @previous.merge!(inherited.__previous.slice(*names)) if inherited
          @in_forks = Skep.on_fork(child: -> { leave_alone unless SelfPipe.handing_on? })
          inherited&.__early&.each do |name|
            deliver(name, names.index(name)) if names.include?(name)
          end
        end

        def to_io = @reader #: () -> IO

        # The names of the signals that came since the last call.
        def take #: () -> Array[String]
          bytes = @reader.read_nonblock(65_536, exception: false)
          overflow = @overflow.shift(@overflow.size)
          return overflow unless bytes.is_a?(String)

          bytes.each_byte.map { |index| @names[index] } + overflow
        end

        # As if they came now.
        def restore(names) = names.each { |name| deliver(name, @names.index(name)) }

        # Puts the handlers in place again, whatever others have put there.
        def renew = @names.each { |name| install(name) } #: () -> void

        # Puts back the handlers that were there before, and closes the pipe.
        def release #: () -> void
          forget
          [@reader, @writer].each { |io| io.close unless io.closed? }
        end

        # From here on none of them is anybody's, to the process' very end.
        def ignore = @names.each { |name| Signal.trap(name, "IGNORE") } #: () -> void

        # Closes the pipe of a parent, in the child that inherited it.
        def disown #: () -> void
          @in_forks.cancel
          [@reader, @writer].each(&:close)
        end

        def __early = @early #: () -> Array[String]
        def __previous = @previous #: () -> Hash[String, untyped]

        private

        # In a fork that isn't skep's;
        # what came for it before is sent to it again, for the handlers it has now.
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
          Signal.trap(name) { deliver(name, index) }
        end

        def deliver(name, index)
          return @early << name unless Process.pid == @pid

          @overflow << name if @writer.write_nonblock(index.chr, exception: false) == :wait_writable
        end
      end
    end
  end
end
