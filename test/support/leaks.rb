# frozen_string_literal: true

# Fails a test that leaves something behind: a child process (killed then, so that the next test
# starts clean), a file descriptor, or a thread of skep's. Included in Skep::TestCase. It knows
# Linux's /proc only; elsewhere children and descriptors aren't looked at.
module Leaks
  ENDING = 0.5 # seconds that a thread has which is about to end
  private_constant :ENDING

  # Descriptors that Ruby itself opens when first needed, opened now: no test is blamed for them.
  def self.settle
    IO.pipe { |reader, writer| Thread.new { reader.read }.tap { writer.close }.join }
    Process.wait(fork { exit! })
    Random.urandom(1)
  end

  def before_setup
    super
    @fds_before = fds
    @children_before = children
    @threads_before = threads
  end

  def after_teardown
    leaks = [left_children, left_fds, left_threads].compact
    flunk "left behind: #{leaks.join("; ")}" if leaks.any?
  ensure
    super
  end

  private

  def left_children
    pids = children - @children_before
    return if pids.empty?

    named = pids.map { |pid| "child #{pid} (#{File.read("/proc/#{pid}/stat")[/\(.*\) \w/]})" }
    pids.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) } # unreaped, so no stranger's
    named.join(", ")
  end

  def children = Dir["/proc/self/task/*/children"].flat_map { |list| children_in(list) }

  # None of a thread that has ended since the folder was read.
  def children_in(list)
    File.read(list).split.map(&:to_i)
  rescue Errno::ENOENT, Errno::ESRCH
    []
  end

  # Objects that are garbage close their descriptors when collected: collects before it blames.
  def left_fds
    left = fds_since_setup
    GC.start if left.any?
    left = fds_since_setup if left.any?
    left.map { |fd, target| "fd #{fd} (#{target})" }.join(", ") if left.any?
  end

  # One that is on its way out isn't left behind.
  def left_threads
    left = (threads - @threads_before).reject { |thread| ends?(thread) }
    left.map { |thread| "thread #{thread.name}" }.join(", ") if left.any?
  end

  def ends?(thread)
    !thread.join(ENDING).nil?
  rescue Exception # rubocop:disable Lint/RescueException -- by which it has ended
    true
  end

  def fds_since_setup = fds.except(*@fds_before.keys)

  def fds = Dir["/proc/self/fd/*"].to_h { |path| [File.basename(path), target_of(path)] }.compact

  # nil for the descriptor of the listing itself, closed by now.
  def target_of(path)
    File.readlink(path)
  rescue Errno::ENOENT
    nil
  end

  def threads = Thread.list.select { |thread| thread.name&.start_with?("skep.") }
end

Leaks.settle
