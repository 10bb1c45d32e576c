# frozen_string_literal: true

require "json"
require "tmpdir"

# A keeper at work, with its workers, in a folder of its own.
#
#   Keeping.of(keeper, workers: 2) do |kept|
#     first, second = kept.await(2)              # => Arrivals of its workers: word, pid, at
#     kept.signal(first.pid, :KILL)
#     kept.arrival(40)&.at                       # nil if none comes within 40 s
#     kept.settle(0.02)                          # lets it do what it has to, and drops what comes
#     kept.pid, kept.workers, kept.others        # the supervisor, and what is below it
#   end
#
# A worker tells through a FIFO, to which anything can write that knows the folder. At the end
# nothing is left of it: this process makes itself the subreaper, so that orphans fall to it, and
# kills until there is none.
module Skep
  module CLI
    class Bench
      class Keeping
        Arrival = Struct.new(:word, :pid, :at)

        START = 30.0 # seconds to start in
        CLEAR = 10.0 # and to be gone in, once killed
        WISHES = { workers: 2, heap: 0, busy: false, orders: false, options: {},
                   rest: 1.0 }.freeze
        private_constant :START, :CLEAR, :WISHES

        # Why nothing of all this can be done here; nil where it can.
        def self.refusal #: () -> String?
          return if OS::ProcessTree::Prctl.supported? && OS::Pidfd.native?

          "kills only what it is sure of, which takes Linux 5.4 and skep's C part, which in a " \
            "checkout `bundle exec rake compile` builds"
        end

        #: (Keeper, **untyped) { (Keeping) -> untyped } -> untyped
        def self.of(keeper, **wishes, &block)
          OS::ProcessTree::Prctl.subreaper!
          wishes = { **WISHES, **wishes }
          keeper.surrounded(busy: wishes[:busy]) do |environment|
            Dir.mktmpdir("skep-bench-") do |folder|
              new(keeper, folder, wishes).run(environment, &block)
            end
          end
        end

        attr_reader :keeper #: Keeper
        attr_reader :pidfd #: OS::Pidfd, of the supervisor
        attr_reader :folder #: String
        attr_reader :wishes #: Hash[Symbol, untyped]

        #: (Keeper, String, Hash[Symbol, untyped]) -> void
        def initialize(keeper, folder, wishes)
          @keeper, @folder, @wishes = keeper, folder, wishes
          @strangers = Kin.children("self")
          @known = []
          @text = +""
          File.mkfifo("#{folder}/witness")
          @witness = File.open("#{folder}/witness", File::RDWR)
        end

        #: (Hash[String, String?]) { (Keeping) -> untyped } -> untyped
        def run(environment)
          start(environment)
          yield self
        ensure
          clear
        end

        def pid = @pidfd.pid #: () -> Integer

        # Everything below the supervisor: workers, those that have told so, and what else it keeps.
        def below = Kin.below(pid) #: () -> Array[Integer]
        def workers = below & @known #: () -> Array[Integer]
        def others = below - @known #: () -> Array[Integer]

        # The next that its workers tell, within so many seconds. Raises Program::Failed when the
        # keeper has ended instead.
        def arrival(seconds) #: (Numeric) -> Arrival?
          deadline = OS.now + seconds
          until (line = @text.slice!(/\A.*\n/))
            return unless hear(deadline)
          end
          word, pid, at = line.split
          @known |= [pid.to_i]
          Arrival.new(word, pid.to_i, at.to_f)
        end

        # So many of them; raises Program::Failed when they don't come.
        def await(count, word: "up", seconds: START) #: (Integer, **untyped) -> Array[Arrival]
          deadline = OS.now + seconds
          found = []
          while found.size < count
            found << (arrival(deadline - OS.now) or
              raise Program::Failed, "#{found.size} of #{count} workers in #{seconds} s: #{said}")
            found.pop unless found.last.word == word
          end
          found
        end

        # What comes in that time; nothing else happens.
        def settle(seconds) #: (Numeric) -> Array[Arrival]
          deadline = OS.now + seconds
          found = []
          while (come = arrival(deadline - OS.now))
            found << come
          end
          found
        end

        # For as long as it takes to be at rest after what happened.
        def rest = settle(@wishes[:rest]) #: () -> Array[Arrival]

        def signal(pid, name) #: (Integer, Symbol) -> void
          pidfd = Skep.pidfd(pid)
          pidfd.signal(name)
        rescue Errno::ESRCH # it has ended by itself
          nil
        ensure
          pidfd&.close
        end

        # Sends a signal to the supervisor, whose end is no failure from now on.
        def end!(name) #: (Symbol) -> void
          @ending = true
          @pidfd.signal(name)
        end

        # Makes a worker get stuck, if it takes orders.
        def stick(pid) #: (Integer) -> void
          File.open("#{folder}/orders.#{pid}", File::WRONLY | File::NONBLOCK) do |orders|
            orders.syswrite("!")
          end
        end

        # Seconds until all of these are gone; nil if some are still there after so many.
        def gone(pidfds, seconds) #: (Array[OS::Pidfd], Numeric) -> Float?
          began = OS.now
          late = pidfds.reject { |each| each.wait(timeout: began + seconds - OS.now) }
          OS.now - began if late.empty?
        end

        # The last that it printed of an error, or at all, for whoever asks why.
        def said #: () -> String
          lines = File.read("#{folder}/said").lines.map(&:strip)
          lines.grep(/error|exception/i).last || lines.reject(&:empty?).last.to_s
        end

        private

        def start(environment)
          wishes = { "SKEP_BENCH_FOLDER" => folder, "SKEP_RUN_DIR" => folder,
                     "SKEP_BENCH_WISHES" => JSON.generate(@wishes) }
          pid = Process.spawn({ **environment, **wishes }, *@keeper.command,
                              in: File::NULL, %i[out err] => "#{folder}/said", chdir: folder,
                              pgroup: true)
          @pidfd = Skep.pidfd(pid)
        end

        # Ends it and all that came from it.
        def clear
          deadline = OS.now + CLEAR
          while (left = remains).any?
            left.each { |each| finish(each, deadline) }
            break if OS.now > deadline
          end
          [@pidfd, @witness].compact.each(&:close)
        end

        # Some more text; false at the deadline.
        def hear(deadline)
          left = [deadline - OS.now, 0].max
          readable, = IO.select([@witness, *(@pidfd unless @ending)], nil, nil, left)
          return false unless readable
          raise Program::Failed, "#{@keeper.name} ended: #{said}" unless readable.include?(@witness)

          @text << @witness.read_nonblock(65_536)
        end

        # Its descendants, and what has fallen to us of them.
        def remains
          (Kin.children("self") - @strangers).flat_map { |child| [child, *Kin.below(child)] }
        end

        # A child of ours is reaped; another's end makes its children ours.
        def finish(pid, deadline)
          return end_by(@pidfd, deadline) if pid == @pidfd&.pid

          pidfd = Skep.pidfd(pid)
          end_by(pidfd, deadline)
        rescue Errno::ESRCH # it has ended by itself
          nil
        ensure
          pidfd&.close
        end

        def end_by(pidfd, deadline)
          pidfd.signal(:KILL) if pidfd.alive?
          pidfd.wait(timeout: [deadline - OS.now, 0].max)
        end
      end
    end
  end
end
