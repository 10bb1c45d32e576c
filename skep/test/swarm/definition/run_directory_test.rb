# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/swarm"

class RunDirectoryTest < Skep::TestCase
  RunDirectory = Skep::Swarm::Definition::RunDirectory
  PathUnusable = Skep::Swarm::Definition::RunDirectory::PathUnusable
  Stat = Struct.new(:uid)

  def setup
    @directory = Dir.mktmpdir("skep")
    @path = "#{@directory}/a/run"
  end

  def teardown = FileUtils.remove_entry(@directory)

  test "creates a missing directory with mode 0700, whatever the umask" do
    before = File.umask(0o000)
    assert_equal @path, RunDirectory.new(@path).use
    assert_equal 0o700, File.stat(@path).mode & 0o7777
  ensure
    File.umask(before)
  end

  test "refuses a directory that all users or its group can write to" do
    { 0o777 => "everybody", 0o770 => "its group", 0o703 => "everybody" }.each do |mode, writers|
      make(mode)
      error = assert_raises(PathUnusable) { RunDirectory.new(@path).use }
      assert_equal "the run directory #{@path} can't be used, #{writers} can write to it: " \
                   "make it yours with mode 0700, or name another by SKEP_RUN_DIR", error.message
      assert_raises(PathUnusable) { RunDirectory.new(@path).check }
    end
  end

  test "accepts a directory with the sticky bit, or that only this user can write to" do
    [0o1777, 0o1770, 0o755].each do |mode|
      make(mode)
      assert_equal @path, RunDirectory.new(@path).use
    end
  end

  test "refuses a symbolic link, also one that leads nowhere" do
    [@directory, "#{@directory}/nowhere"].each do |target|
      FileUtils.mkdir_p(File.dirname(@path))
      File.symlink(target, @path)
      error = assert_raises(PathUnusable) { RunDirectory.new(@path).use }
      assert_includes error.message, "it is a symbolic link"
      File.unlink(@path)
    end
    refute_path_exists "#{@directory}/nowhere"
  end

  test "refuses a file, and a directory that can't be created" do
    File.write("#{@directory}/a", "")
    assert_match(/can't be used, .*not a directory|file exists/,
                 assert_raises(PathUnusable) { RunDirectory.new(@path).use }.message)
    assert_includes assert_raises(PathUnusable) { RunDirectory.new("#{@directory}/a").use }.message,
                    "it is no directory"
  end

  test "names a directory that works if its own can't be created" do
    error = assert_raises(PathUnusable) { RunDirectory.new("/proc/nowhere/skep").use }
    other = error.message[%r{\Athe run directory /proc/.* be used, .*: set SKEP_RUN_DIR=(/.*)\z}, 1]
    new = !File.exist?(other)

    assert_equal other, RunDirectory.new(other).use
  ensure
    FileUtils.rmdir(other) if new
  end

  test "trusts files of this user and root; a client run by root trusts any owner" do
    other = Stat.new(Process.euid + 1)
    assert RunDirectory.trusted?(Stat.new(Process.euid))
    assert RunDirectory.trusted?(Stat.new(0))
    refute RunDirectory.trusted?(other)
    assert_equal Process.euid.zero?, RunDirectory.trusted?(other, asking: true)
  end

  test "refuses another user's directory with the user's id, except for a client run by root" do
    return assert_operator Process.euid, :>, 0 unless Process.euid.zero? # only root can chown

    make(0o755)
    File.chown(61_002, nil, @path)
    error = assert_raises(PathUnusable) { RunDirectory.new(@path).use }
    assert_includes error.message, "it belongs to user 61002"
    assert_equal @path, RunDirectory.new(@path).check
  end

  test "a named control path's directory may be a link, and writable for its group" do
    make(0o775)
    File.symlink(@path, "#{@directory}/link")
    assert_equal "#{@directory}/link", RunDirectory.new("#{@directory}/link", named: true).use
    File.chmod(0o777, @path)
    error = assert_raises(PathUnusable) { RunDirectory.new("#{@directory}/link", named: true).use }
    assert_includes error.message, "everybody can write to it: name another path with control:"
  end

  test "check accepts a missing directory, and creates none" do
    assert_equal @path, RunDirectory.new(@path).check
    refute_path_exists @path
  end

  private

  def make(mode)
    FileUtils.mkdir_p(@path)
    File.chmod(mode, @path)
  end
end
