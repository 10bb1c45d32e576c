# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/cli"
require "skep/cli/pidfile"

class PidfileTest < Skep::TestCase
  Pidfile = Skep::CLI::Pidfile
  private_constant :Pidfile

  def setup
    @directory = Dir.mktmpdir
    @path = "#{@directory}/swarm.pid"
  end

  def teardown = FileUtils.remove_entry(@directory)

  test "a pidfile has the pid until it is released" do
    pidfile = Pidfile.new(@path)
    pidfile.take
    assert_equal "#{Process.pid}\n", File.read(@path)
    pidfile.release
    refute_path_exists @path
    pidfile.release
  end

  test "a stale pidfile is replaced, even if its pid is another process' by now" do
    ["", "\n", "1234567\n", "#{Process.ppid}\n"].each do |text|
      File.write(@path, text)
      pidfile = Pidfile.new(@path)
      pidfile.take
      assert_equal "#{Process.pid}\n", File.read(@path)
      pidfile.release
    end
  end

  test "a pidfile that another process has taken is refused with its pid" do
    holder, reader = in_child do |writer|
      Pidfile.new(@path).take
      writer.puts("taken")
      IO.pipe[0].read
    end
    assert_equal "taken\n", wait_readable(reader).gets
    error = assert_raises(Pidfile::PidfileTaken) { Pidfile.new(@path).take }
    assert_match(/swarm\.pid belongs to a running supervisor \(pid #{holder}\)/, error.message)
    assert_equal 78, error.exit_code
    assert_equal "#{holder}\n", File.read(@path)
  ensure
    Process.kill(:KILL, holder)
    Process.wait(holder)
  end

  test "a file that is no pidfile is refused and keeps its content" do
    { "the only copy" => /its content is no pid/, "12 monkeys" => /its content is no pid/ }
      .each do |text, sentence|
      File.write(@path, text)
      assert_match(sentence, refusal(@path))
      assert_equal text, File.read(@path)
    end
  end

  test "a link, a directory, a device and a missing folder are refused" do
    File.symlink("#{@directory}/elsewhere", @path)
    assert_match(/too many levels of symbolic links/, refusal(@path))
    refute_path_exists "#{@directory}/elsewhere"
    assert_match(/is a directory/, refusal(@directory))
    assert_match(/no regular file/, refusal("/dev/null"))
    assert_match(/no such file or directory/, refusal("#{@directory}/no/swarm.pid"))
  end

  test "a pidfile that was replaced meanwhile is left to its new owner" do
    pidfile = Pidfile.new(@path)
    pidfile.take
    File.unlink(@path)
    File.write(@path, "1\n")
    pidfile.release
    assert_equal "1\n", File.read(@path)
  end

  private

  def refusal(path)
    error = assert_raises(Pidfile::PidfileUnusable) { Pidfile.new(path).take }
    assert_equal 78, error.exit_code
    error.message
  end
end
