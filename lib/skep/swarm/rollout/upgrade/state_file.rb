# frozen_string_literal: true

require "json"
require "socket"
require "tempfile"

# The document that one program of the supervisor leaves to the next: facts, and the numbers of
# descriptors that stay open over execve(2).
#
#   state_file = StateFile.new               # in the old program
#   number = state_file.lend(node.channel)   # stays open; its number goes into the facts
#   file = state_file.write({ … }, trial: true)
#   state_file.ios                              # => all that were lent, and the file
#
#   state_file = StateFile.read(7)              # in the new one; raises Unreadable
#   state_file["started_at"]
#   state_file.take(number, UNIXSocket)         # => the socket, the new program's from here on
#   state_file.trial?                           # true: it only shows that it could
#
# It is Unreadable for a program whose format, page or channels are others. This class is only the
# format. Supervisor#dump lists what is carried over: the configuration as it was loaded, signals
# that wait, sockets, the page and the name's lock, molds, slots and nodes with their pidfds and
# channels, and the `dump` of each component. Restore puts it back.
module Skep
  class Swarm
    module Rollout
      class Upgrade
        class StateFile
          # The signals that are kept while one program of the supervisor follows another.
          SIGNALS = %w[TERM INT QUIT TSTP TTIN USR1 USR2 HUP].freeze

          # Of this document, of the page, and of the messages to molds and nodes: those of an older
          # skep get messages from a newer one.
          FORMAT = 5

          class Unreadable < Skep::Error
            def initialize(skep:, what:)
              super("skep #{VERSION} can't take over from skep #{skep}, #{what}: " \
                    "stop the swarm and start it again")
            end
          end

          class << self
            # The versions of all that both programs must understand.
            def terms
              { "format" => FORMAT, "channel" => IPC::Channel::VERSION, "native" => OS.native? }
            end

            def read(number)
              file = File.for_fd(number, "r")
              file.rewind
              state_file = new(JSON.parse(file.read, max_nesting: false, allow_nan: true))
              state_file.check
              state_file
            rescue SystemCallError, JSON::ParserError => e
              raise Unreadable.new(skep: "?",
                                   what: "what it hands over can't be read: #{e.message}")
            ensure
              file&.close
            end
          end

          attr_reader :ios

          def initialize(plain = {})
            @plain = plain
            @ios = []
          end

          # What the old program calls.

          def lend(held)
            @ios << held.to_io
            @ios.last.fileno
          end

          # The pipe that keeps signals meanwhile.
          def signals = @signals ||= OS.pipe

          # The next program's.
          def environment
            OS::SignalHandoff.environment(SIGNALS, signals.last)
          end

          # Returns a file without a name. It is among `ios`, too.
          def write(facts, trial: false)
            file = Tempfile.create("skep", File.writable?("/dev/shm") ? "/dev/shm" : Dir.tmpdir)
            File.unlink(file.path)
            facts = { **StateFile.terms,
                      "skep" => VERSION, "ruby" => RUBY_VERSION, "trial" => trial,
                      "written_at" => OS.now, **facts }
            file.write(JSON.generate(facts, max_nesting: 0, allow_nan: true))
            file.flush
            @ios << file
            @file = file
          end

          # Whether all stays open over the exec; false again if that has failed.
          def stay_open(stay) = @ios.each { |io| io.close_on_exec = !stay }

          def close = [@file, *@signals].each { |io| io&.close }

          # What the new program calls.

          def [](key) = @plain.fetch(key)
          def trial? = self["trial"]

          def check
            StateFile.terms.each do |term, ours|
              next if @plain[term] == ours

              what = "as its #{term} is #{@plain[term].inspect} and not #{ours.inspect}"
              raise Unreadable.new(skep: @plain["skep"], what:)
            end
          end

          def take(number, kind = File, mode = nil)
            io = kind.for_fd(number, *mode)
            io.close_on_exec = true
            io
          end
        end
      end
    end
  end
end
