# frozen_string_literal: true

require "rbconfig"

# The supervisor goes on as another program, of a newer skep or on a newer Ruby, in the same
# process: execve(2) keeps its pid, its children and the descriptors that it wants to keep.
#
#   upgrade = Upgrade.new(supervisor, mold_pool, ["/usr/bin/ruby", "/usr/bin/skep"]) { |why| … }
#   upgrade.start
#   upgrade.look        # something has happened: may it go on now, or is it over?
#
# The block is called with a sentence if it hasn't come to that, and this program goes on.
#
# | step | what is done |
# |---|---|
# | trial | the new program is started beside this one, and must be able to take all over |
# | wait | until nothing is under way (Obstacles) |
# | exec | signals are kept for the new program, and it is executed |
module Skep
  class Swarm
    class Upgrade
      ABLE = "skep can go on from here" # what a trial says in the end; other programs don't
      TRIAL_SECONDS = 30.0
      WAIT_SECONDS = 10.0
      TEXT = 65_536
      private_constant :TRIAL_SECONDS, :WAIT_SECONDS, :TEXT

      # Why not, whatever is under way.
      def self.refusal(program) #: (untyped) -> String?
        return "it takes skep's C extension" unless OS::SignalHandoff.supported?

        usable = program.is_a?(Array) && program.size == 2 && program.all? do |path|
          path.is_a?(String) && path.start_with?("/") && !path.include?("\0") && File.file?(path)
        end
        "there is no such program: #{Array(program).join(" ")}" unless usable
      end

      attr_reader :pid #: Integer?, the trial's

      #: (Supervisor, Molds::MoldPool, [String, String]) { (String) -> void } -> void
      def initialize(supervisor, mold_pool, program, &failed)
        @supervisor = supervisor
        @mold_pool = mold_pool
        @loop = supervisor.loop
        @program = program
        @failed = failed
        @said = +""
      end

      def start #: () -> void
        @reader, writer = OS.pipe
        @pid = try(writer)
        @pidfd = OS::Pidfd.open(pid)
        @watches = [@loop.watch(@reader) { hear }, @loop.watch(@pidfd.to_io) { tried },
                    @loop.after(TRIAL_SECONDS) { fail("it isn't ready in #{TRIAL_SECONDS} s") }]
      rescue StandardError => e # no process, descriptor or file to be had; this program goes on
        fail(e.message)
      ensure
        writer&.close
      end

      # Not at once: what has happened is to be written down first.
      def look #: () -> void
        @look ||= @loop.after(0) do
          @look = nil
          look_now
        end
      end

      # Another change is asked for.
      def give_way(change) #: (String) -> void
        fail("a #{change} was asked for meanwhile: try again") unless change == "upgrade"
      end

      private

      def try(writer)
        OS::ProcessTree::ForkProbe.check
        state_file = StateFile.new
        file = @supervisor.hand_over(state_file, trial: true)
        kept = state_file.ios.to_h { |io| [io, io] }
        Process.spawn(state_file.environment, *command(file),
                      in: File::NULL, out: File::NULL, err: writer, pgroup: true,
                      close_others: true, **kept)
      ensure
        state_file&.close
      end

      def command(file)
        [*@program, "run", "--handed-over=#{file.fileno}",
         *@supervisor.arguments]
      end

      def hear
        bytes = @reader.read_nonblock(TEXT, exception: false)
        @said << bytes if bytes.is_a?(String) && @said.bytesize < TEXT
        @watches.first.cancel if bytes.nil?
      end

      def tried
        status = @pidfd.wait(timeout: 0) or return
        hear
        clear
        return fail(complaint(status)) unless status.success? && @said.include?(ABLE)

        @watches = [@loop.after(WAIT_SECONDS) { fail(obstacle) }]
        @ready = true
        look
      end

      def complaint(status)
        first = @said.lines.map(&:strip).reject(&:empty?).first
        first ||= status.success? ? "it is no skep, or another one" : IPC::ExitStatus.of(status).to_s
        "the new program can't take over: #{IPC::PlainData.text(first.delete_prefix("skep: "))}"
      end

      def look_now
        return if @over
        return fail("it is stopping") if @supervisor.stopping?

        switch if @ready && !obstacle
      rescue StandardError => e # it couldn't be executed, or its state not be told
        fail(e.message)
      end

      def obstacle = Obstacles.new(@supervisor, @mold_pool).first

      # What is due, or was signalled, is done before.
      def switch
        return look if @loop.due?

        OS::SignalHandoff.hold(StateFile::SIGNALS)
        begin
          @supervisor.signalled? ? look : execute
        ensure
          OS::SignalHandoff.take_back
        end
      end

      # It returns, by an error, only if it can't be done.
      def execute
        state_file = StateFile.new
        file = @supervisor.hand_over(state_file)
        state_file.stay_open(true)
        exec(state_file.environment, *command(file))
      ensure
        state_file&.stay_open(false)
        state_file&.close
      end

      def fail(why)
        return if @over

        @over = true
        @pidfd.signal(:KILL) if @pidfd && !@pidfd.closed?
        clear
        @failed.call(why)
      rescue Errno::ESRCH # it went by itself: reaped with the strangers
        clear
        @failed.call(why)
      end

      # A trial that is killed is a stranger from here on.
      def clear
        @watches&.each(&:cancel)
        [@pidfd, @reader].each { |held| held&.close }
        @pid = nil
      end
    end
  end
end

require "skep/swarm/upgrade/state_file"
require "skep/swarm/upgrade/restore"
require "skep/swarm/upgrade/obstacles"
