# frozen_string_literal: true

# Children for the tests of the os room.
#
#   blocked_child { |pid| … }         # lives until killed; reaped after the block, whoever did that
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
    bury(pid)
  end

  def grandchild
    gate, release = IO.pipe
    pid, reader = in_child { |writer| release.close || raise_a_child(writer, gate) }
    yield wait_readable(reader).gets.to_i, -> { release.close }
  ensure
    [release, gate].each(&:close)
    bury(pid) { Process.wait(pid) }
  end

  # Does this kernel tell a stranger's status once it is reaped?
  def tells_strangers?
    release = Etc.uname[:release].split(".").first(2).map(&:to_i)
    Skep::OS::Pidfd.native? && (release <=> [6, 15]) >= 0
  end

  private

  # In the child: the parent of a grandchild, until the gate opens.
  def raise_a_child(writer, gate)
    grandchild = fork { IO.select(nil) }
    writer.puts(grandchild)
    gate.read
    Process.wait(grandchild)
  end

  def bury(pid)
    return yield if block_given?

    Process.kill(:KILL, pid) # still ours: a zombie at most, or gone with nobody forked since
    Process.wait(pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil # The test reaped it.
  end
end
