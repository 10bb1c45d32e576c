# frozen_string_literal: true

require "test_helper"
require "skep/os"

class ForkProbeTest < Skep::TestCase
  NOBODY = 65_534
  # As in qemu-user, a clone(2) with CLONE_VFORK and without SIGCHLD returns EINVAL. Sources:
  # seccomp(2), struct sock_filter of <linux/filter.h>.
  NO_ZOMBIES = <<~RUBY
    require "fiddle"
    number = RUBY_PLATFORM.start_with?("aarch64") ? 220 : 56
    filter = [[0x20, 0, 0, 0], [0x15, 0, 3, number], [0x20, 0, 0, 16], [0x54, 0, 0, 0x40ff],
              [0x15, 1, 0, 0x4000], [0x06, 0, 0, 0x7fff0000], [0x06, 0, 0, 0x00050016]]
    code = Fiddle::Pointer[filter.map { |step| step.pack("SCCL") }.join]
    program = Fiddle::Pointer[[filter.size, code.to_i].pack("Sx6Q")]
    prctl = Fiddle::Function.new(Fiddle.dlopen(nil)["prctl"], [Fiddle::TYPE_LONG] * 5, Fiddle::TYPE_INT)
    prctl.call(38, 1, 0, 0, 0)
    exit(77) unless prctl.call(22, 2, program.to_i, 0, 0).zero?
    require "skep/os"
  RUBY
  private_constant :NOBODY, :NO_ZOMBIES

  test "check returns true, and leaves no child and no SIGCHLD" do
    pid, reader = in_child do |writer|
      trap(:CHLD) { writer.write("SIGCHLD") }
      100.times { raise "it returned false" unless Skep::OS::ProcessTree::ForkProbe.check }
      Process.wait
    rescue Errno::ECHILD
      writer.write("alone")
    end

    assert_equal "alone", wait_readable(reader).read
    Process.wait(pid)
  end

  test "check raises EAGAIN at once if the process limit is reached" do
    skip "it needs the C extension" unless Skep::OS.native?
    pid, reader = in_child do |writer|
      Process::UID.change_privilege(NOBODY) if Process.uid.zero?
      Process.setrlimit(:NPROC, 0)
      Skep::OS::ProcessTree::ForkProbe.check
      writer.write("check returned")
    rescue Errno::EAGAIN => e
      writer.write(e.message)
    end

    assert_equal "Resource temporarily unavailable - fork(2)", wait_readable(reader).read
    Process.wait(pid)
  end

  test "check and kill_others are the fallback's if the kernel refuses the C extension's" do
    out, err, status = run_program(<<~RUBY)
      #{NO_ZOMBIES}
      Process.setpgid(0, 0)
      reader, writer = IO.pipe
      other = fork { writer.close || reader.read }
      tree = Skep::OS::ProcessTree
      print [tree::ForkProbe.check, tree::ProcessGroup.kill_others, Process.wait2(other)[1].termsig]
    RUBY
    skip "this kernel has no seccomp(2)" if status.exitstatus == 77
    assert_equal ["[true, true, 9]", ""], [out, err]
  end
end
