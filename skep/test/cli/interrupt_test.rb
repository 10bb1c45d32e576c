# frozen_string_literal: true

require "test_helper"
require "socket"
require "tmpdir"

# Ctrl-C while a command runs in a process.
class InterruptTest < Skep::TestCase
  EXE = File.expand_path("../../exe/skep", __dir__)
  private_constant :EXE

  test "^C while a command waits for the supervisor ends it by the signal, without a backtrace" do
    { "restart" => "skep: the swarm continues its restart: see `skep status`\n",
      "reload" => "skep: the swarm continues its reload: see `skep status`\n",
      "stop" => "", "status" => "" }.each do |command, said|
      interrupted(command, "--control", "a.sock") do |server|
        wait_readable(server).accept # it never answers, the first question of `stop` neither
      end => { signal:, err: }
      assert_equal ["INT", said], [signal, err], command
    end
  end

  test "^C while a command loads ends it by the signal, without a backtrace" do
    loading = "trap('INT', 'DEFAULT'); def require(name) = name == 'skep/cli' ? " \
              "(UNIXSocket.new('a.sock'); sleep) : super; load('#{EXE}')"
    interrupted("-rsocket", "-e", loading, "status", exe: []) do |server|
      wait_readable(server).accept
    end => { signal:, err: }
    assert_equal ["INT", ""], [signal, err]
  end

  private

  def interrupted(*words, exe: [EXE])
    Dir.mktmpdir do |directory|
      server = UNIXServer.new("#{directory}/a.sock")
      reader, writer = IO.pipe
      pid = Process.spawn(RbConfig.ruby, *exe, *words, chdir: directory, err: writer, out: writer)
      writer.close
      peer = yield server
      Process.kill(:INT, pid)
      err = read_all([reader], deadline(10)).first
      { signal: Signal.signame(Process.wait2(pid).last.termsig.to_i), err: }
    ensure
      [peer, server, reader].compact.each(&:close)
    end
  end
end
