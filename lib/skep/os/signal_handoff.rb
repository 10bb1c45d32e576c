# frozen_string_literal: true

# Keeps signals that arrive while this process executes another Ruby program, until that program
# handles them.
#
#   reader, writer = OS.pipe           # in the old program: both stay open
#   SignalHandoff.hold(%w[TERM HUP])   # right before the exec
#   exec(SignalHandoff.environment(%w[TERM HUP], writer), "ruby", …)
#   SignalHandoff.take_back            # if exec failed: deliver them as before
#
#   trap("TERM") { … }           # in the new program
#   SignalHandoff.kept(reader)   # => ["HUP"], the signals that arrived before it had handlers
#
# Signals that arrived before `hold` have been handled when it returns; the new program gets the
# later ones. Several of the same signal may be merged. Source: signal(7), execve(2), ld.so(8).
module Skep
  module OS
    module SignalHandoff
      # Ruby has no way to block a signal.
      module Fallback
        # Restores the state before `hold`.
        def take_back = unsupported!

        private

        def block(_numbers) = unsupported!

        def unsupported!
          raise Unsupported.new(what: "keeping signals for the next program",
                                because: "it takes skep's C extension")
        end
      end
      private_constant :Fallback

      extend Fallback

      KEPT = "SKEP_SIGNAL_PRELOAD"
      private_constant :KEPT

      class << self
        # Returns true if the C extension and its preload library are there.
        def supported? = !preload.nil?

        def hold(names) = block(numbers(names))

        # Returns the variables for the exec. The new program removes them from its environment.
        def environment(names, writer, env: ENV)
          others = env["LD_PRELOAD"]
          { "LD_PRELOAD" => [*others, preload].join(":"), "SKEP_PRELOADED" => others,
            KEPT => [writer.fileno, *numbers(names)].join(" ") }
        end

        # Returns true in a new program in which the preload library was not loaded.
        def refused?(env: ENV) = env.key?(KEPT)

        # Returns the signals in the order in which they arrived.
        def kept(reader)
          bytes = reader.read_nonblock(65_536, exception: false)
          bytes.is_a?(String) ? bytes.each_byte.map { |number| Signal.signame(number) } : []
        end

        private

        # Returns the path of the preload library, which is beside the C extension.
        def preload
          extension = OS.native? && $LOADED_FEATURES.find { |path| path.end_with?("/skep_ext.so") }
          path = extension && ::File.join(::File.dirname(extension), "skep_signal_preload.so")
          path if path && ::File.file?(path)
        end

        def numbers(names) = names.map { |name| OS.signal_number(name) }
      end
    end
  end
end
