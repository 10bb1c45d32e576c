# frozen_string_literal: true

require "json"
require "socket"
require "tempfile"

# What one program of the supervisor leaves to the next, which its process goes on as: facts, and
# descriptors that stay open over execve(2).
#
#   state_file = StateFile.new               # in the old program
#   number = state_file.lend(node.channel)   # stays open; its number goes into the facts
#   file = state_file.write({ … }, trial: true)
#   state_file.ios                             # => all that were lent, and the file
#
#   state_file = StateFile.read(7)              # in the new one; raises Unreadable
#   state_file["started_at"]
#   state_file.take(number, UNIXSocket)        # => the socket, ours from here on
#   state_file.trial?                          # it is only asked whether it could
#
# Programs that don't agree on its format, on the page's and the channels', hand nothing over.
module Skep
  class Swarm
    class Upgrade
      class StateFile
        # Those that are kept while one program of the supervisor follows another.
        SIGNALS = %w[TERM INT QUIT TSTP TTIN USR1 USR2 HUP].freeze

        # Of this document, of what lies on the page, and of what molds and nodes are told: one that
        # was forked by an older skep is told by a newer one.
        FORMAT = 3

        class Unreadable < Skep::Error
          def initialize(skep:, what:)
            super("skep #{VERSION} can't go on where skep #{skep} is now, #{what}: " \
                  "stop the swarm and start it anew")
          end
        end

        class << self
          # The versions of all that both must understand.
          def terms #: () -> Hash[String, untyped]
            { "format" => FORMAT, "channel" => IPC::Channel::VERSION, "native" => OS.native? }
          end

          def read(number) #: (Integer) -> StateFile
            file = File.for_fd(number, "r")
            file.rewind
            state_file = new(JSON.parse(file.read, max_nesting: false, allow_nan: true))
            state_file.check
            state_file
          rescue SystemCallError, JSON::ParserError => e
            raise Unreadable.new(skep: "?", what: "what it hands over can't be read: #{e.message}")
          ensure
            file&.close
          end
        end

        attr_reader :ios #: Array[IO]

        def initialize(plain = {}) #: (?Hash[String, untyped]) -> void
          @plain = plain
          @ios = []
        end

        # The old program's.

        def lend(held) #: (untyped) -> Integer
          @ios << held.to_io
          @ios.last.fileno
        end

        # The pipe in which signals are kept meanwhile.
        def signals = @signals ||= OS.pipe #: () -> [IO, IO]

        # What the next program is executed with.
        def environment
          OS::SignalHandoff.environment(SIGNALS, signals.last)
        end

        # A file without a name, and among what was lent.
        def write(facts, trial: false) #: (Hash[String, untyped], ?trial: bool) -> File
          file = Tempfile.create("skep", File.writable?("/dev/shm") ? "/dev/shm" : Dir.tmpdir)
          File.unlink(file.path)
          facts = { **StateFile.terms, "skep" => VERSION, "ruby" => RUBY_VERSION, "trial" => trial,
                                       "written_at" => OS.now, **facts }
          file.write(JSON.generate(facts, max_nesting: 0, allow_nan: true))
          file.flush
          @ios << file
          @file = file
        end

        # All stays open over the exec; or not, if that has failed.
        def stay_open(stay) = @ios.each { |io| io.close_on_exec = !stay } #: (bool) -> void

        def close = [@file, *@signals].each { |io| io&.close } #: () -> void

        # The new one's.

        def [](key) = @plain.fetch(key) #: (String) -> untyped
        def trial? = self["trial"] #: () -> bool

        def check #: () -> void
          StateFile.terms.each do |term, ours|
            next if @plain[term] == ours

            what = "as its #{term} is #{@plain[term].inspect} and not #{ours.inspect}"
            raise Unreadable.new(skep: @plain["skep"], what:)
          end
        end

        def take(number, kind = File, mode = nil) #: (Integer, ?Class, ?String?) -> IO
          io = kind.for_fd(number, *mode)
          io.close_on_exec = true
          io
        end
      end
    end
  end
end
