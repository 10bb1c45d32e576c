# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/control"

# The control socket, served by a real loop for a supervisor that has one command.
class ControlServerTest < Skep::TestCase
  Supervisor = Struct.new(:loop, :config, :stopped) do
    def events = @events ||= Skep::Swarm::Runtime::EventBus.new
    def abstract_lock = nil
    def snapshot = { name: "a", nodes: [] }
    def stop = self.stopped = true
    def quiet? = false
    def changes = @changes ||= Changes.new
  end
  Changes = Struct.new(:done) do
    def restart(*, **, &done) = self.done = done
  end

  def setup
    @directory = Dir.mktmpdir
    @path = File.join(@directory, "a.sock")
    config = Skep::Swarm::Definition::Config.new("a", { control: @path }, tasks: [{}])
    @supervisor = Supervisor.new(Skep::OS::EventLoop.new, config, false)
    @server = Skep::Control::Server.new
    @server.configured(@supervisor)
  end

  def teardown
    @server.on_close
    @supervisor.loop.close
    FileUtils.remove_entry(@directory)
  end

  test "answers one line and closes" do
    assert_equal({ "v" => 1, "status" => { "name" => "a", "nodes" => [] } },
                 asked('{"v":1,"command":"status"}'))
  end

  test "at an abstract socket it has a past, too" do
    lock = Struct.new(:server).new(UNIXServer.new(File.join(@directory, "b.sock")))
    supervisor = Supervisor.new(@supervisor.loop, @supervisor.config, false)
    supervisor.define_singleton_method(:abstract_lock) { lock }
    server = Skep::Control::Server.new
    server.configured(supervisor)
    @path = File.join(@directory, "b.sock")
    past = asked('{"command":"history","series":true}').fetch("history")
    assert_equal [String, Hash], past.values_at("run", "series").map(&:class)
  ensure
    server&.on_close
  end

  test "calls the supervisor for a command, within the loop" do
    assert_equal({ "v" => 1, "done" => "stop" }, asked('{"command":"stop"}'))
    @supervisor.loop.turn(0)
    assert @supervisor.stopped
  end

  test "answers an invalid request with a sentence" do
    ["nonsense", "[]", "1", "null", "{}", '{"command":"exit"}', "\xFF\xFE", '{"command":{"a":[]}}',
     '"command"'].each do |request|
      assert_match(/: there are status|one line of JSON/, asked(request)["error"])
    end
  end

  test "reports an error of skep's own at a request, and closes the client" do
    errors = []
    @supervisor.events.subscribe { |event| errors << event.facts[:error] }
    @supervisor.events.define_singleton_method(:guard) do |action, **how, &block|
      action == "status" ? raise("a bug") : super(action, **how, &block)
    end
    client = UNIXSocket.new(@path)
    client.puts('{"command":"status"}')
    3.times { @supervisor.loop.turn(0) }
    assert_equal [["RuntimeError: a bug"], nil], [errors, client.gets]
    client.close
  end

  test "closes a client that sends too much" do
    client = UNIXSocket.new(@path)
    assert_raises(Errno::EPIPE, Errno::ECONNRESET) do
      loop do
        client.write_nonblock("x" * 60_000, exception: false)
        @supervisor.loop.turn(0)
      end
    end
    client.close
  end

  test "serves other clients beside a silent one and one that has closed" do
    silent = UNIXSocket.new(@path)
    UNIXSocket.new(@path).close
    3.times { @supervisor.loop.turn(0) }

    assert asked('{"command":"status"}').key?("status")
    silent.close
  end

  test "answers a request while a hundred clients send nothing or don't read" do
    silent = Array.new(100) do |index|
      UNIXSocket.new(@path).tap do |client|
        client.puts('{"command":"status"}') if index.odd?
        @supervisor.loop.turn(0)
      end
    end
    assert_equal "a", asked('{"v":1,"command":"status"}')["status"]["name"]
  ensure
    silent.each(&:close)
  end

  test "keeps a client that waits for a restart while a hundred others connect" do
    waiting = UNIXSocket.new(@path)
    waiting.puts('{"command":"restart"}')
    3.times { @supervisor.loop.turn(0) }
    others = Array.new(100) { UNIXSocket.new(@path).tap { @supervisor.loop.turn(0) } }
    @supervisor.changes.done.call(nil)
    assert_equal({ "v" => 1, "done" => "restart" }, JSON.parse(waiting.read))
  ensure
    [waiting, *others].each(&:close)
  end

  test "answers a command that raises with a sentence" do
    reported = nil
    @supervisor.events.subscribe { |event| reported = event.facts }
    def (@supervisor.changes).restart(*) = raise(ArgumentError, "no")
    error = asked('{"command":"restart"}')["error"]

    assert_match(/the command failed in the supervisor \(ArgumentError\): see its log/, error)
    assert_equal ["restart", "ArgumentError: no"], reported.values_at(:action, :error)
  end

  test "creates its socket with mode 0600, and removes it at the end" do
    assert_equal 0o600, File.stat(@path).mode & 0o777
    @server.on_close
    refute_path_exists @path
  end

  test "leaves another swarm's socket at its path in place" do
    File.unlink(@path)
    other = UNIXServer.new(@path)
    @server.on_close
    assert_path_exists @path
  ensure
    other&.close
  end

  test "reopen creates a removed socket again, and keeps one that is there" do
    File.unlink(@path)
    @server.reopen
    assert asked('{"command":"status"}').key?("status")
    before = File.lstat(@path).ino
    @server.reopen
    assert_equal before, File.lstat(@path).ino
    @server.on_close
    refute_path_exists @path
  end

  test "raises CannotListen for a path that is too long for a socket" do
    config = Skep::Swarm::Definition::Config.new("a", { control: "/#{'x' * 200}" }, tasks: [{}])
    error = assert_raises(Skep::Control::CannotListen) do
      Skep::Control::Server.new.configured(Supervisor.new(@supervisor.loop, config))
    end

    assert_match(/can't be made, .*name another with control:/, error.message)
  end

  private

  def asked(request)
    client = UNIXSocket.new(@path)
    client.write("#{request}\n")
    by = deadline(10)
    until client.wait_readable(0) || seconds_until(by).zero?
      @supervisor.loop.turn(seconds_until(by))
    end
    @supervisor.loop.turn(0)
    JSON.parse(client.read)
  ensure
    client.close
  end
end
