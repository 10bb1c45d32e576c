# frozen_string_literal: true

# Signals turned into something a loop can wait for: a trap handler writes one byte and does nothing else.
#
#   signals = Signals.new(%w[TERM INT QUIT])
#   signals.to_io                # readable when one came
#   signals.take                 # => ["TERM"], in the order they came
#   signals.release              # the handlers that were there before
#
# A process forked from one that holds Signals runs the inherited handlers until it has its own. What comes in
# that window would wake the wrong process, so the handler keeps it aside, and the child's own Signals begin with
# it: `Signals.new(names, inherited: mold_signals)`. No signal is lost, none is taken twice.
module Skep
  class Swarm
    class Signals
      def initialize(names, inherited: nil) #: (Array[String], ?inherited: Signals?) -> void
        @names = names
        @pid = Process.pid
        @reader, @writer = IO.pipe
        @early = []
        @overflow = []
        @previous = names.to_h { |name| [name, install(name)] }
        inherited&.__early&.each { |name| deliver(name, names.index(name)) if names.include?(name) }
      end

      def to_io = @reader #: () -> IO

      # The names of the signals that came since the last call.
      def take #: () -> Array[String]
        bytes = @reader.read_nonblock(65_536, exception: false)
        overflow = @overflow.shift(@overflow.size)
        return overflow unless bytes.is_a?(String)

        bytes.each_byte.map { |index| @names[index] } + overflow
      end

      # Puts back the handlers that were there before, and closes the pipe.
      def release #: () -> void
        @previous.each { |name, handler| Signal.trap(name, handler || "DEFAULT") }
        [@reader, @writer].each { |io| io.close unless io.closed? }
      end

      # Closes the pipe of a parent, in the child that inherited it.
      def disown = [@reader, @writer].each(&:close) #: () -> void

      def __early = @early #: () -> Array[String]

      private

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
