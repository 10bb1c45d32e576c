# frozen_string_literal: true

require "test_helper"
require "tempfile"
require "skep/os"

class FileLockTest < Skep::TestCase
  FileLock = Skep::OS::FileLock
  private_constant :FileLock

  def setup = @file = Tempfile.new("skep")
  def teardown = @file.close!

  test "one process at a time has the lock, and holder returns its pid" do
    assert FileLock.take(@file)
    pid, reader = in_child do |writer|
      file = File.open(@file.path, "r+")
      writer.puts FileLock.take(file), FileLock.holder(file).inspect
    end
    holder = FileLock.supported? ? Process.pid : nil
    assert_equal "false\n#{holder.inspect}\n", wait_readable(reader).read
    Process.wait(pid)
  end

  test "is released when its holder ends" do
    pid, = in_child { FileLock.take(File.open(@file.path, "r+")) }
    Process.wait(pid)
    assert_nil FileLock.holder(@file)
    assert FileLock.take(@file)
  end

  test "is released when its holder ends, although a forked child has the file open" do
    skip "it needs 64-bit Linux" unless FileLock.supported?
    pid, reader = in_child do |writer|
      FileLock.take(@file)
      fork { writer.puts(Process.pid) || IO.select(nil) } # has the file open
      Process.exit!
    end
    fork = wait_readable(reader).gets.to_i
    Process.wait(pid)
    assert FileLock.take(@file)
  ensure
    Process.kill(:KILL, fork) if fork&.positive?
  end
end
