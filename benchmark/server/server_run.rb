# frozen_string_literal: true

require "json"
require "tmpdir"

# A running server with its workers, in its own folder.
#
#   ServerRun.of(server, workers: 2) do |run|
#     first, second = run.await(2)              # => Arrivals of its workers: word, pid, at
#     run.signal(first.pid, :KILL)
#     run.arrival(40)&.at                       # nil if none comes within 40 s
#     run.settle(0.02)                          # waits, and drops the reports that arrive
#     run.pid, run.workers, run.others        # the supervisor and its descendants
#   end
#
# Workers report through a FIFO in the folder. At the end no process is left: this process is a
# subreaper, so that it inherits orphans, and kills descendants until there is none.
module Skep
  module Benchmarks
    class ServerRun
      Arrival = Struct.new(:word, :pid, :at)

      START = 120.0 # seconds to start, with a heap of 1 GiB on a busy machine, too
      CLEAR = 10.0 # seconds to exit after a kill
      WISHES = { workers: 2, heap: 0, busy: false, orders: false, options: {},
                 rest: 1.0 }.freeze
      private_constant :START, :CLEAR, :WISHES

      # Returns why no server can run here, or nil.
      def self.refusal
        return if OS.native? && OS::Pidfd.native?

        "kills only what it is sure of, which takes Linux 5.4 and skep's C part, which in a " \
          "checkout `bundle exec rake compile` builds"
      end

      def self.of(server, **wishes, &block)
        OS::ProcessTree::Prctl.subreaper!
        wishes = { **WISHES, **wishes }
        server.surrounded(busy: wishes[:busy]) do |environment|
          Dir.mktmpdir("skep-bench-") do |folder|
            new(server, folder, wishes).run(environment, &block)
          end
        end
      end

      attr_reader :server
      attr_reader :pidfd
      attr_reader :folder
      attr_reader :wishes

      def initialize(server, folder, wishes)
        @server, @folder, @wishes = server, folder, wishes
        @other_children = ProcessTree.children("self")
        @known = []
        @text = +""
        File.mkfifo("#{folder}/reports")
        @reports = File.open("#{folder}/reports", File::RDWR)
      end

      def run(environment)
        @environment = environment
        start(environment)
        yield self
      ensure
        clear
      end

      def pid = @pidfd.pid

      # Returns the supervisor's descendants: workers, which have reported, and the others.
      def below = ProcessTree.below(pid)
      def workers = below & @known
      def others = below - @known

      # Returns the next report of a worker within so many seconds. Raises Program::Failed if the
      # server has ended.
      def arrival(seconds)
        deadline = OS.now + seconds
        until (line = @text.slice!(/\A.*\n/))
          return unless read_reports(deadline)
        end
        word, pid, at = line.split
        @known |= [pid.to_i]
        Arrival.new(word, pid.to_i, at.to_f)
      end

      # Returns so many reports. Raises Program::Failed if they don't arrive.
      def await(count, word: "up", seconds: START)
        deadline = OS.now + seconds
        found = []
        while found.size < count
          found << (arrival(deadline - OS.now) or
            raise Program::Failed,
                  "#{found.size} of #{count} workers in #{seconds} s: #{last_error}")
          found.pop unless found.last.word == word
        end
        found
      end

      # Waits for that time, and returns the reports that arrive.
      def settle(seconds)
        deadline = OS.now + seconds
        found = []
        while (come = arrival(deadline - OS.now))
          found << come
        end
        found
      end

      # Waits until the server is idle again.
      def rest = settle(@wishes[:rest])

      def signal(pid, name)
        pidfd = Skep.pidfd(pid)
        pidfd.signal(name)
      rescue Errno::ESRCH # it has already ended
        nil
      ensure
        pidfd&.close
      end

      # Sends a signal to the supervisor. From now on its end is no failure.
      def end!(name)
        @ending = true
        @pidfd.signal(name)
      end

      # Starts the program once more, after it has ended.
      def start_again
        @pidfd.close
        @ending = false
        start(@environment)
      end

      # Makes a worker hang, if it takes orders.
      def stick(pid)
        File.open("#{folder}/orders.#{pid}", File::WRONLY | File::NONBLOCK) do |orders|
          orders.syswrite("!")
        end
      end

      # Returns the seconds until all of these have exited, or nil at the timeout.
      def seconds_to_exit(pidfds, seconds)
        began = OS.now
        late = pidfds.reject { |each| each.wait(timeout: began + seconds - OS.now) }
        OS.now - began if late.empty?
      end

      # Returns the last error that it printed, else its last line.
      def last_error
        lines = File.read("#{folder}/output").lines.map(&:strip)
        lines.grep(/error|exception/i).last || lines.reject(&:empty?).last.to_s
      end

      private

      def start(environment)
        wishes = { "SKEP_BENCH_FOLDER" => folder, "SKEP_RUN_DIR" => folder,
                   "SKEP_BENCH_WISHES" => JSON.generate(@wishes) }
        pid = Process.spawn({ **environment, **wishes }, *@server.command,
                            in: File::NULL, %i[out err] => ["#{folder}/output", "a"], chdir: folder,
                            pgroup: true)
        @pidfd = Skep.pidfd(pid)
      end

      # Kills it and all its descendants.
      def clear
        deadline = OS.now + CLEAR
        while (left = remains).any?
          left.each { |each| finish(each, deadline) }
          break if OS.now > deadline
        end
        [@pidfd, @reports].compact.each(&:close)
      end

      # Reads more text. Returns false at the deadline.
      def read_reports(deadline)
        left = [deadline - OS.now, 0].max
        readable, = IO.select([@reports, *(@pidfd unless @ending)], nil, nil, left)
        return false unless readable
        unless readable.include?(@reports)
          raise Program::Failed, "#{@server.name} ended: #{last_error}"
        end

        @text << @reports.read_nonblock(65_536)
      end

      # Returns its descendants, including inherited orphans.
      def remains
        children = ProcessTree.children("self") - @other_children
        children.flat_map { |child| [child, *ProcessTree.below(child)] }
      end

      # Reaps children of this process. The end of another process makes its children ours.
      def finish(pid, deadline)
        return end_by(@pidfd, deadline) if pid == @pidfd&.pid

        pidfd = Skep.pidfd(pid)
        end_by(pidfd, deadline)
      rescue Errno::ESRCH # it has already ended
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
