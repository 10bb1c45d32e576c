# frozen_string_literal: true

require "rbconfig"
require "support/suite/wire"

module TestSuite
  # Runs units in worker processes. A worker gets the next unit when it has finished one, one that
  # shares the same if there is any. Units that must run alone come last, one at a time. A worker
  # that ends too early fails the test that it was running, and is replaced.
  class Pool
    ENDING = 30 # seconds for the workers to end, once they have no more to do or are signalled
    private_constant :ENDING

    # A worker process, seen from the pool.
    class Member
      PROGRAM = File.expand_path("worker.rb", __dir__)
      private_constant :PROGRAM

      attr_reader :pid, :results, :unit, :last # unit: what it runs; last: what it runs, or ran last

      def initialize(options)
        its_commands, @commands = IO.pipe
        @results, its_results = IO.pipe
        @pid = start(its_commands, its_results, options)
        [its_commands, its_results].each(&:close)
        @buffer = String.new
      end

      def give(unit)
        @unit = @last = unit
        @finished = []
        @current = @began = nil
        @commands.write(Wire.line(unit.to_h.slice(:path, :class_name, :tests)))
      rescue Errno::EPIPE
        nil # it has ended: the pool is about to reap it
      end

      # Returns what it has reported since the last call.
      def messages
        while (read = @results.read_nonblock(65_536, exception: false)).is_a?(String)
          @buffer << read
        end
        @buffer.slice!(/.*\n/m).to_s.each_line.map { |line| note(JSON.parse(line)) }
      end

      def busy? = !@unit.nil?
      def ran? = @ran ? true : false

      # The test that it is running, or is about to; how long; and what comes after it.
      def current = @current || (@unit.tests - @finished).first || @unit.tests.last
      def seconds = @began ? Minitest.clock_time - @began : 0.0
      def rest = @unit.without([*@finished, current])

      def dismiss = @commands.close
      def close = [@commands, @results].each(&:close)

      private

      def start(commands, results, options)
        spawn(Processes::BUNDLER, RbConfig.ruby, "-w", "-r./test/load_path", PROGRAM,
              commands.fileno.to_s, results.fileno.to_s, *options,
              in: File::NULL, commands => commands, results => results)
      end

      def note(message)
        @ran = true
        case message
        in ["began", name]
          @current = name
          @began = Minitest.clock_time
        in ["result", facts]
          @finished << facts["name"]
          @current = nil
        in ["done"]
          @unit = nil
        end
        message
      end
    end

    def initialize(units, count, reporter, options)
      @alone, @together = units.partition(&:alone)
      @count = count
      @reporter = reporter
      @options = options
      @members = {}
    end

    def run
      @awake, waker = IO.pipe
      previous = trap(:CHLD) { waker.write_nonblock(".", exception: false) }
      work
      dismiss
    ensure
      end_all
      trap(:CHLD, previous || "DEFAULT")
      [@awake, waker].each(&:close)
    end

    private

    def work
      @count.times { start }
      until over?
        feed
        wait(@members.each_value.map(&:results))
        @members.each_value { |member| listen(member) }
        reap_ended { start unless over? }
      end
    end

    def over? = @together.empty? && @alone.empty? && @members.each_value.none?(&:busy?)

    def start
      member = Member.new(@options)
      @members[member.pid] = member
    end

    def feed
      idle = @members.each_value.reject(&:busy?)
      idle.shift.then { |member| member.give(next_for(member)) } while idle.any? && @together.any?
      idle.first.give(@alone.shift) if @alone.any? && idle.size == @members.size && idle.any?
    end

    def next_for(member)
      same = member.last && @together.index { |unit| unit.shares == member.last.shares }
      @together.delete_at(same || 0)
    end

    def wait(results, seconds = nil)
      IO.select([@awake, *results], nil, nil, seconds)
      @awake.read_nonblock(4096, exception: false)
    end

    def listen(member)
      member.messages.each { |kind, facts| record(Wire.load(facts)) if kind == "result" }
    end

    def record(result)
      @reporter.prerecord(Object.const_get(result.klass), result.name)
      @reporter.record(result)
    end

    # Reaps the workers that have ended. The block replaces one.
    def reap_ended
      @members.values.each do |member|
        _, status = Process.wait2(member.pid, Process::WNOHANG)
        next unless status

        listen(member)
        @members.delete(member.pid)
        member.close
        report_end(member, status) unless @ending || (@dismissed && status.success?)
        yield if block_given?
      end
    end

    # Fails the test that the worker was running, and puts those after it back into the queue.
    def report_end(member, status)
      raise "workers can't run tests here: #{status}" unless member.ran?

      fail_by(member, status.to_s.sub(/\Apid \d+ /, ""))
      return unless member.busy? && member.rest.tests.any?

      (member.unit.alone ? @alone : @together).unshift(member.rest)
    end

    def fail_by(member, how)
      path, class_name = member.last.to_h.values_at(:path, :class_name)
      record(
        if member.busy?
          Wire.ended(class_name, member.current, member.seconds,
                     "The worker that ran #{path} ended before the test did: #{how}")
        else
          Wire.ended(class_name, "the end of its worker", 0.0,
                     "The worker that had run #{path}, and others before, did not end well: #{how}")
        end
      )
    end

    # Waits for the workers' ends. They exit once they have no more commands.
    def dismiss
      @dismissed = true
      @members.each_value(&:dismiss)
      await_ends
      @members.each_value { |member| fail_by(member, "still there after #{ENDING} s") }
    end

    # Ends the remaining workers after an interrupt or an error, or if they don't exit.
    def end_all
      @ending = true
      %i[TERM KILL].each do |name|
        @members.each_key { |pid| Process.kill(name, pid) } # unreaped: pids can't be reused
        await_ends
      end
    end

    def await_ends
      by = Minitest.clock_time + ENDING
      reap_ended
      while @members.any? && (left = by - Minitest.clock_time).positive?
        wait([], left)
        reap_ended
      end
    end
  end
end
