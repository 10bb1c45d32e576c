# frozen_string_literal: true

require "skep/os"
require "simulation/socket"

# The simulated machine under a supervisor: a clock that jumps from event to event, processes, and
# the poller that the real event loop waits with.
#
#   kernel = Kernel.new(Random.new(7))
#   kernel.after(0.5) { node.ready }     # an event outside the supervisor
#   Skep::OS.run_on(kernel) { supervisor.run }
#
# It has the methods of Skep::OS::Machine (doubles_test.rb checks that). Nothing in it depends on
# real time, object ids or hash seeds.
module Simulation
  class Kernel
    START = 1_000.0
    TURN = 0.000_02 # seconds that a turn of the supervisor takes
    SLACK = 0.000_1 # seconds by which a timer is late
    TURNS = 60_000
    TURNS_AT_ONCE = 400 # within a hundredth of a second
    private_constant :TURN, :SLACK, :TURNS, :TURNS_AT_ONCE

    attr_reader :now, :processes, :open, :violations, :turns, :random, :pause_seconds
    attr_accessor :awake, :frozen_at, :turn_over, :child_ended, :out_of_descriptors, :no_buffers,
                  :oom_kills

    def initialize(random)
      @random = random
      @now = START
      @events = []
      @serial = 0
      @processes = {}
      @open = {}.compare_by_identity
      @violations = []
      @turns = 0
      @oom_kills = 0
      @pause_seconds = 0.0
      @burst = [0, START]
    end

    # The methods of Skep::OS::Machine.

    # The simulated host is never suspended.
    def now_with_suspends = now

    def poller = @poller ||= Poller.new(self)

    def pidfd(pid, io = nil)
      raise Errno::EMFILE, "pidfd_open(2)" if io.nil? && out_of_descriptors

      process = @processes[pid]
      raise Errno::ESRCH, "process #{pid}" if process.nil? || (io.nil? && process.reaped?)

      Pidfd.new(self, process, io || ProcessDescriptor.new(self, :supervisor, process))
    end

    def socket_pair
      raise Errno::EMFILE, "socketpair(2)" if out_of_descriptors

      Socket.pair(self, :supervisor)
    end

    def rights(ios) = Rights.new(ios.map { |io| io.is_a?(Descriptor) ? io.in_flight : io })

    def read(path)
      case path
      when "/proc/vmstat" then "oom_kill #{oom_kills}\n"
      when %r{\A/proc/(\d+)/statm\z} then running($1, path).statm
      when %r{\A/proc/(\d+)/task/\d+/stat\z} then running($1, path).stat
      else raise Errno::ENOENT, path
      end
    end

    def exist?(path) = path == "/proc/self/statm"
    def children(path) = [running(path[/\d+/], path).pid.to_s]

    # Events and processes outside the supervisor.

    def at(time, &block)
      key = [time, @serial += 1]
      index = @events.bsearch_index { |event| (event[0] <=> key).negative? } || @events.size
      @events.insert(index, [key, block])
    end

    def after(seconds, &block) = at(@now + seconds, &block)

    def spawn(parent)
      KernelProcess.new(self, 10_000 + @processes.size, parent).tap { |process|
        @processes[process.pid] = process
      }
    end

    def run_due
      while (event = @events.last) && event[0][0] <= @now
        @events.pop[1].call
      end
    end

    # Moves the clock to the next event, at most to the deadline.
    def advance(deadline)
      run_due
      coming = @events.last&.first&.first
      raise Stuck, "it waits forever" unless coming || deadline

      if deadline && (coming.nil? || deadline <= coming)
        @now = [deadline + SLACK, @now].max
      else
        @now = coming
      end
      run_due
    end

    # The supervisor waits in a system call. Returns false at the deadline.
    def block_until(deadline)
      until yield
        return false if @now >= deadline

        advance(deadline)
      end
      true
    end

    # Stops the supervisor for so many seconds; all: every other process, too.
    def pause(seconds, all:)
      @pause_seconds += seconds
      return @paused_until = [@paused_until.to_f, @now + seconds].max unless all

      @frozen_at = @now += seconds
      @events.each { |event| event[0][0] += seconds }
      @shift = @shift.to_f + seconds
    end

    # Returns the seconds in which no process ran.
    def frozen_seconds = @shift.to_f

    def begin_turn
      @turns += 1
      @now += TURN
      count_burst
      turn_over&.call
      return unless @paused_until

      until_then, @paused_until = @paused_until, nil
      advance(until_then) while @now < until_then
    end

    # Records a broken invariant, each once.
    def violate(what)
      @violations << [@now, what] unless @violations.any? { |_, known| known == what }
    end

    def opened(descriptor) = @open[descriptor] = true
    def closed(descriptor) = @open.delete(descriptor)

    private

    def running(pid, path)
      process = @processes[pid.to_i]
      raise Errno::ENOENT, path unless process&.running?

      process
    end

    def count_burst
      count, since = @burst
      @burst = @now - since > 0.01 ? [0, @now] : [count + 1, since]
      raise Stuck, "#{TURNS_AT_ONCE} turns in a hundredth of a second" if count > TURNS_AT_ONCE
      raise Stuck, "#{TURNS} turns" if @turns > TURNS
    end
  end

  # The supervisor never ends, or its loop turns without a reason.
  class Stuck < StandardError
  end

  # What the real event loop waits with. It returns what is ready in any order.
  class Poller
    Entry = Struct.new(:io, :token, :read, :write)
    private_constant :Entry

    def initialize(kernel)
      @kernel = kernel
      @entries = {}.compare_by_identity
    end

    def add(io, token, read: true, write: false)
      raise ArgumentError, "#{io.inspect} is in the poller already" if @entries.key?(io)
      raise IOError, "closed stream" if io.to_io.closed?

      @entries[io] = Entry.new(io.to_io, token, read, write)
      self
    end

    def modify(io, token, read:, write:)
      entry = @entries.fetch(io) { raise ArgumentError, "#{io.inspect} isn't in the poller" }
      entry.token, entry.read, entry.write = token, read, write
      self
    end

    def remove(io)
      @entries.delete(io)
      self
    end

    def wait(seconds = nil)
      raise IOError, "closed poller" if @closed

      @kernel.begin_turn
      deadline = seconds && (@kernel.now + seconds)
      @kernel.run_due
      while (found = ready).empty?
        break if deadline && @kernel.now >= deadline

        @kernel.advance(deadline)
      end
      @kernel.awake&.call
      found.shuffle(random: @kernel.random)
    end

    def close
      @closed = true
      @entries.clear
      nil
    end

    def closed? = @closed ? true : false
    def size = @entries.size
    def inspect = "#<#{self.class} ios=#{size}>"

    private

    def ready
      found = []
      @entries.each_value do |entry|
        next forget(entry) if entry.io.closed?

        readable = entry.read && entry.io.readable?
        writable = entry.write && entry.io.writable?
        found << [entry.token, readable, writable] if readable || writable
      end
      found
    end

    def forget(entry)
      @kernel.violate("a closed descriptor is watched: #{entry.io.inspect}") if
        entry.read || entry.write
      entry.read = entry.write = false
    end
  end

  # A process of the simulated kernel. Its actor defines its behaviour, with the methods
  # `signal(name)`, `child_ended(process)` and `resumed`.
  class KernelProcess
    DIES_AFTER = 0.000_3 # seconds from a SIGKILL to the end

    attr_reader :pid, :status, :children, :descriptors, :signals, :began_at, :died_at
    attr_accessor :parent, :actor, :pages, :dies_after, :announced, :reported

    def initialize(kernel, pid, parent)
      @kernel = kernel
      @pid = pid
      @parent = parent
      @began_at = kernel.now
      @state = :running
      @children = []
      @descriptors = []
      @signals = [] # that the supervisor sent
      @pages = 12_000
      @dies_after = DIES_AFTER
      parent.children << self if parent.is_a?(KernelProcess)
    end

    # Returns the seconds since its start, up to its death.
    def age = (died_at || @kernel.now) - @began_at
    def running? = @state == :running
    def zombie? = @state == :zombie
    def reaped? = @state == :reaped
    def dying? = @dying ? true : false
    def stopped? = @stopped ? true : false
    def ever_stopped? = @ever_stopped ? true : false
    def orphan? = parent == :supervisor

    # by_supervisor: true if the supervisor sent it.
    def signal(name, by_supervisor: false)
      @signals << [@kernel.now, name] if by_supervisor
      return unless running?

      case name
      when "KILL" then be_killed
      when "STOP" then @stopped = @ever_stopped = true
      when "CONT" then resume
      else @stopped ? (@pending ||= []) << name : actor.signal(name)
      end
    end

    # Signals the rest of its group after its death.
    def signal_group(name)
      @kernel.violate("the group of #{pid} was signalled after the reap") if
        reaped? && @reaped_by == :supervisor
    end

    def exit(status) = die([status, nil])
    def die_of(signal) = die([nil, signal])

    def reap(by)
      @state = :reaped
      @reaped_by = by
      status
    end

    def statm = "#{pages + 5_000} #{pages} 9000 0 0 0 0\n"
    def stat = "#{pid} (ruby) #{@stopped ? "T" : "S"} 1 #{"0 " * 40}\n"
    def inspect = "#<#{self.class} #{pid} #{@state}>"

    private

    def be_killed
      return if @dying

      @dying = true
      @kernel.after(@dies_after) { die([nil, "KILL"]) }
    end

    def resume
      @stopped = false
      pending, @pending = @pending, nil
      actor.resumed
      pending&.each { |name| actor.signal(name) if running? }
    end

    def die(status)
      return unless running?

      @state = :zombie
      @died_at = @kernel.now
      @status = Status.new(*status)
      @descriptors.each(&:close)
      @children.each { |child| child.__reparent }
      @children.clear
      notify_parent
    end

    def notify_parent
      return @kernel.child_ended&.call if orphan?

      parent.actor.child_ended(self)
    end

    public

    def __reparent
      @parent = :supervisor
      @kernel.child_ended&.call if zombie?
    end
  end

  # Stands in for Process::Status.
  Status = Struct.new(:exitstatus, :name) do
    def termsig = name && Signal.list.fetch(name)
  end

  # A handle on a process, in place of Skep::OS::Pidfd.
  class Pidfd
    attr_reader :pid

    def initialize(kernel, process, descriptor)
      @kernel = kernel
      @process = process
      @descriptor = descriptor
      @pid = process.pid
    end

    def alive?
      assert_open
      @process.running?
    end

    def signal(sig, group: false)
      assert_open
      name = sig.to_s.delete_prefix("SIG")
      if group
        @process.signal_group(name)
      else
        raise Errno::ESRCH, "process #{pid}" unless alive?

        @process.signal(name, by_supervisor: true)
      end
      self
    end

    def kill_leftover_group
      signal(:KILL, group: true) unless alive?
    end

    # Of every third process the kernel doesn't show it.
    def failure
      assert_open
      return if !@process.zombie? || @process.status.exitstatus == 0 || (pid % 3).zero?

      [@process.status.exitstatus, @process.status.termsig]
    end

    def wait(timeout: nil)
      assert_open
      return @status if @status

      deadline = timeout ? @kernel.now + timeout : Float::INFINITY
      return unless @process.running? == false || @kernel.block_until(deadline) {
        !@process.running?
      }

      @status = @process.reap(:supervisor) if @process.orphan? && @process.zombie?
      @status || Skep::OS::Pidfd::UnknownStatus.new(pid)
    end

    def to_io
      assert_open
      @descriptor
    end

    def watchable?
      assert_open
      true
    end

    def hold = self

    def close
      @descriptor.close
      nil
    end

    def closed? = @descriptor.closed?
    def inspect = "#<#{self.class} #{pid}>"

    private

    def assert_open
      raise Skep::OS::Pidfd::Closed.new(pid:) if closed?
    end
  end
end
