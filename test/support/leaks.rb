# frozen_string_literal: true

# Fails a test that leaves something behind: a child process (killed then, so that the next test
# starts clean), a file descriptor, or a thread of skep's. Included in Skep::TestCase. Without
# Linux's /proc it checks threads only.
module Leaks
  ENDING = 0.5 # seconds for a thread that is about to end
  private_constant :ENDING

  # Opens the descriptors that Ruby opens at the first use, so that no test counts as their owner.
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
    leaks = [left_children, left_threads, left_fds].compact # a thread may still hold descriptors
    flunk "left behind: #{leaks.join("; ")}" if leaks.any?
  ensure
    super
  end

  private

  def left_children
    pids = children - @children_before
    return if pids.empty?

    named = pids.map { |pid| "child #{pid} (#{File.read("/proc/#{pid}/stat")[/\(.*\) \w/]})" }
    pids.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) } # unreaped, so still theirs
    named.join(", ")
  end

  def children = Dir["/proc/self/task/*/children"].flat_map { |list| children_in(list) }

  # Returns [] for a thread that has ended since the folder was read.
  def children_in(list)
    File.read(list).split.map(&:to_i)
  rescue Errno::ENOENT, Errno::ESRCH
    []
  end

  # Collects garbage before it reports, because garbage closes its descriptors only then.
  def left_fds
    left = fds_since_setup
    if left.any?
      overwrite_stack(100)
      GC.start
      left = fds_since_setup
    end
    left.map { |fd, target| "fd #{fd} (#{target})" }.join(", ") if left.any?
  end

  # Where the machine's stack still has the address of an object, that isn't garbage. (`each` is a
  # function in C.)
  def overwrite_stack(depth)
    [depth - 1].each { |one| overwrite_stack(one) } if depth.positive?
  end

  # A thread that is about to end isn't left behind.
  def left_threads
    left = (threads - @threads_before).reject { |thread| ends?(thread) }
    left.map { |thread| "thread #{thread.name}" }.join(", ") if left.any?
  end

  def ends?(thread)
    !thread.join(ENDING).nil?
  rescue Exception # rubocop:disable Lint/RescueException -- the error that ended it
    true
  end

  def fds_since_setup = fds.except(*@fds_before.keys)

  def fds = Dir["/proc/self/fd/*"].to_h { |path| [File.basename(path), target_of(path)] }.compact

  # Returns nil for the descriptor of the listing itself, which is closed by now.
  def target_of(path)
    File.readlink(path)
  rescue Errno::ENOENT
    nil
  end

  def threads = Thread.list.select { |thread| thread.name&.start_with?("skep.") }
end

Leaks.settle
