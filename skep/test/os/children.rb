# frozen_string_literal: true

# Children for the tests of the component os.
#
#   blocked_child { |pid| … }         # runs until it is killed; reaped after the block
#   grandchild { |pid, release| … }   # its parent reaps it once release is called
module Children
  def blocked_child
    pid, reader = in_child do |writer|
      trap(:TERM, "SYSTEM_DEFAULT")
      writer.write(".")
      IO.select(nil)
    end
    wait_readable(reader).getc
    yield pid
  ensure
    reap(pid)
  end

  def grandchild
    gate, release = IO.pipe
    pid, reader = in_child { |writer| release.close || fork_grandchild(writer, gate) }
    yield wait_readable(reader).gets.to_i, -> { release.close }
  ensure
    [release, gate].each(&:close)
    reap(pid) { Process.wait(pid) }
  end

  # Returns true if this kernel shows the status of a process that isn't a child, once reaped.
  def shows_any_status?
    release = Etc.uname[:release].split(".").first(2).map(&:to_i)
    Skep::OS::Pidfd.native? && (release <=> [6, 15]) >= 0
  end

  private

  # In the child: the parent of a grandchild, until the gate opens.
  def fork_grandchild(writer, gate)
    grandchild = fork { IO.select(nil) }
    writer.puts(grandchild)
    gate.read
    Process.wait(grandchild)
  end

  def reap(pid)
    return yield if block_given?

    Process.kill(:KILL, pid) # a zombie at most, or reaped with no fork since
    Process.wait(pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil # The test reaped it.
  end
end
