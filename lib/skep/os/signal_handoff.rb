# frozen_string_literal: true

# Signals that wait until another Ruby program of this very process is there to take them.
#
#   reader, writer = OS.pipe           # in the old program: both stay open
#   SignalHandoff.hold(%w[TERM HUP])   # right before the exec
#   exec(SignalHandoff.environment(%w[TERM HUP], writer), "ruby", …)
#   SignalHandoff.take_back                           # … which has failed: they come as they did
#
#   trap("TERM") { … }           # in the new one
#   SignalHandoff.kept(reader)   # => ["HUP"], what came before it had handlers
#
# What came before `hold` has gone through Ruby's handlers when it returns; what comes later is the
# new program's. Several of one signal may come as one. Source: signal(7), execve(2), ld.so(8).
module Skep
  module OS
    module SignalHandoff
      # What Ruby offers: no way to block a signal.
      module Fallback
        # Puts everything back as it was before `hold`.
        #
        #: () -> true
        def take_back = unsupported!

        private

        #: (Array[Integer]) -> true
        def block(_numbers) = unsupported!

        #: () -> bot
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
        # Not without C.
        #
        #: () -> bool
        def supported? = !preload.nil?

        #: (Array[String]) -> true
        def hold(names) = block(numbers(names))

        # What the new program is executed with: it hides it from its own.
        #
        #: (Array[String], IO writer) -> Hash[String, String?]
        def environment(names, writer, env: ENV)
          others = env["LD_PRELOAD"]
          { "LD_PRELOAD" => [*others, preload].join(":"), "SKEP_PRELOADED" => others,
            KEPT => [writer.fileno, *numbers(names)].join(" ") }
        end

        # Has the new program been given them in vain?
        #
        #: () -> bool
        def refused?(env: ENV) = env.key?(KEPT)

        # In the order in which they came.
        #
        #: (IO reader) -> Array[String]
        def kept(reader)
          bytes = reader.read_nonblock(65_536, exception: false)
          bytes.is_a?(String) ? bytes.each_byte.map { |number| Signal.signame(number) } : []
        end

        private

        # Beside the other part of the C.
        #
        #: () -> String?
        def preload
          extension = OS.native? && $LOADED_FEATURES.find { |path| path.end_with?("/skep_ext.so") }
          path = extension && ::File.join(::File.dirname(extension), "skep_signal_preload.so")
          path if path && ::File.file?(path)
        end

        #: (Array[String]) -> Array[Integer]
        def numbers(names) = names.map { |name| OS.signal_number(name) }
      end
    end
  end
end
