# frozen_string_literal: true

require "rbconfig"

# Where molds come from: a file that a fresh Ruby loads, or the program that called `Swarm#run`.
#
#   Origin::SwarmFile.new("swarm.rb").start(0)    # => [pid, channel]: executed, no user code here
#   Origin::Program.new(swarm).start(0) { |…| }   # => [pid, channel]: forked from where we stand
#
# Both put the mold into a process group of its own,
# so that a terminal's Ctrl-C reaches the supervisor alone.
module Skep
  class Swarm
    module Origin
      class SwarmFile
        LIBRARY = ::File.expand_path("../..", __dir__)
        private_constant :LIBRARY

        attr_reader :file #: String

        def initialize(file, arguments: []) #: (String, ?arguments: Array[String]) -> void
          @file = file
          @arguments = arguments
          @last_heap = LastHeap.new(file)
        end

        def program? = false #: () -> bool

        # A new mold, executed; `disown` is for the other origin.
        def start(number, disown: nil) #: (Integer, ?disown: untyped) -> [Integer, Channel]
          OS::Headroom.check
          ours, theirs = Channel.pair
          pid = Process.spawn(@last_heap.environment, *command, in: ::File::NULL, pgroup: true,
                              Caster.channel_fd => theirs, close_others: true,
                              **Sockets.redirects)
          theirs.close
          ours.send("load", { "mold" => number, "supervisor" => Process.pid })
          [pid, ours]
        end

        # What the next mold can be given before it boots.
        def warmed(slots:, reshare:) = @last_heap.remember(slots:, reshare:) #: (**untyped) -> void

        # A mold came to its end before it was ready.
        def failed = @last_heap.forget #: () -> void

        private

        def command
          [RbConfig.ruby, "-I", LIBRARY, *@last_heap.requires, "-rskep",
           "-e", "Skep::Swarm::Caster.main", "--", @file, *@arguments]
        end
      end

      class Program
        def initialize(swarm) #: (Swarm) -> void
          @swarm = swarm
        end

        def file = @swarm.name #: () -> String
        def program? = true #: () -> bool

        # A new mold, forked; `disown` closes in it what is the supervisor's alone.
        def start(number, disown:) #: (Integer, disown: Proc) -> [Integer, Channel]
          OS::Headroom.check
          ours, theirs = Channel.pair
          pid = Signals.hand_on { Process.fork { become(ours, theirs, disown) } }
          theirs.close
          ours.send("load", { "mold" => number, "supervisor" => Process.pid })
          [pid, ours]
        end

        # The program has booted already.
        def warmed(**) = nil #: (**untyped) -> void
        def failed = nil #: () -> void

        private

        def become(ours, theirs, disown)
          Process.setpgid(0, 0)
          disown.call
          ours.close
          $stdin.reopen(::File::NULL)
          Caster.serve(Channel.new(theirs), swarm: @swarm)
        end
      end
    end
  end
end
