# frozen_string_literal: true

# The sockets that the swarm was started with, as systemd does it (LISTEN_FDS; a .socket unit): they
# stay open in supervisor, molds and nodes, at the numbers from 3 on, and whatever a node runs finds
# them by the same words, LISTEN_FDS, LISTEN_FDNAMES and LISTEN_PID: its own.
#
#   SocketActivation.take         # in the supervisor, before anything else
#   SocketActivation.redirects    # => {3 => io, …}, for whom it executes
#   SocketActivation.announce     # in a mold and in a node
#   SocketActivation.ios          # => [io, …]
#
# What a node itself executes doesn't get them. sd_listen_fds(3).
module Skep
  class Swarm
    module Runtime
      module SocketActivation
        FIRST = 3
        WORDS = %w[LISTEN_FDS LISTEN_FDNAMES].freeze
        OURS = "SKEP_"
        private_constant :WORDS, :OURS

        class Missing < Skep::Error
          def initialize(count:)
            super("LISTEN_FDS says that there are #{count.inspect} sockets from descriptor " \
                  "#{FIRST} on, and they aren't open: unset it, or let systemd start this")
          end
        end

        class << self
          # Ours are those that came for this very process.
          # Raises Missing where there are none.
          def take(env = ENV, pid: Process.pid) #: (?untyped, ?pid: Integer) -> void
            given = env["LISTEN_PID"].to_i == pid ? WORDS.to_h { |word| [word, env[word]] } : {}
            raise Missing.new(count: given[WORDS.first]) unless given.empty? || open?(given)

            WORDS.each { |word| env[OURS + word] = given[word] }
            WORDS.each { |word| env.delete(word) } if given.any?
            env.delete("LISTEN_PID") if given.any?
            shut
          end

          # Without making as many objects as somebody has written there.
          def open?(given)
            count = Integer(given[WORDS.first] || "0", 10)
            count >= 0 && count.times.all? do |index|
              IO.for_fd(FIRST + index, autoclose: false)
            end
          rescue ArgumentError, RangeError, SystemCallError # no number; or one isn't open
            false
          end
          private :open?

          def count(env = ENV) = env["#{OURS}LISTEN_FDS"].to_i #: (?untyped) -> Integer

          def ios(env = ENV) #: (?untyped) -> Array[IO]
            Array.new(count(env)) { |index| IO.for_fd(FIRST + index, autoclose: false) }
          rescue SystemCallError # somebody has closed one
            []
          end

          def redirects = ios.to_h { |io| [io.fileno, io] } #: () -> Hash[Integer, IO]

          # Whoever this process executes gets none of them, unless it is told to.
          def shut = ios.each { |io| io.close_on_exec = true } #: () -> void

          def announce(env = ENV) #: (?untyped) -> void
            return if count(env).zero?

            WORDS.each { |word| env[word] = env[OURS + word] }
            env["LISTEN_PID"] = Process.pid.to_s
          end
        end
      end
    end
  end
end
