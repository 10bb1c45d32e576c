# frozen_string_literal: true

# The sockets that systemd has started the swarm with (LISTEN_FDS; a .socket unit). They stay open
# in supervisor, molds and nodes, as descriptors from 3 on. The work finds them by LISTEN_FDS,
# LISTEN_FDNAMES and LISTEN_PID, as sd_listen_fds(3) does.
#
#   SocketActivation.take         # in the supervisor, before anything else
#   SocketActivation.redirects    # => {3 => io, …}, for an executed mold
#   SocketActivation.announce     # in a mold and in a node
#   SocketActivation.ios          # => [io, …]
#
# Without such sockets ENV has no COUNT, and there is nothing to do. Programs that a node executes
# don't get the sockets.
module Skep
  class Swarm
    module Runtime
      module SocketActivation
        FIRST = 3
        WORDS = %w[LISTEN_FDS LISTEN_FDNAMES].freeze
        OURS = "SKEP_"
        COUNT = "SKEP_LISTEN_FDS"
        private_constant :WORDS, :OURS

        class Missing < Skep::Error
          def initialize(count:)
            super("LISTEN_FDS says that there are #{count.inspect} sockets from descriptor " \
                  "#{FIRST} on, and they aren't open: unset it, or let systemd start this")
          end
        end

        class << self
          # Takes the sockets that were passed to this process, and to none before it. Raises
          # Missing if they aren't open.
          def take(env = ENV, pid: Process.pid)
            given = env["LISTEN_PID"].to_i == pid ? WORDS.to_h { |word| [word, env[word]] } : {}
            raise Missing.new(count: given[WORDS.first]) unless given.empty? || open?(given)

            WORDS.each { |word| env[OURS + word] = given[word] }
            WORDS.each { |word| env.delete(word) } if given.any?
            env.delete("LISTEN_PID") if given.any?
            shut
          end

          # Makes no more objects than there are sockets, whatever the number says.
          def open?(given)
            count = Integer(given[WORDS.first] || "0", 10)
            count >= 0 && count.times.all? do |index|
              IO.for_fd(FIRST + index, autoclose: false)
            end
          rescue ArgumentError, RangeError, SystemCallError # no number; or one isn't open
            false
          end
          private :open?

          def count(env = ENV) = env[COUNT].to_i

          def ios(env = ENV)
            Array.new(count(env)) { |index| IO.for_fd(FIRST + index, autoclose: false) }
          rescue SystemCallError # one has been closed
            []
          end

          def redirects = ios.to_h { |io| [io.fileno, io] }

          # Closes them in programs that this process executes, except by `redirects`.
          def shut = ios.each { |io| io.close_on_exec = true }

          def announce(env = ENV)
            return if count(env).zero?

            WORDS.each { |word| env[word] = env[OURS + word] }
            env["LISTEN_PID"] = Process.pid.to_s
          end
        end
      end
    end
  end
end
