# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/control"

# The client, with a socket that answers as the test defines.
class ControlClientTest < Skep::TestCase
  STATUS = { "name" => "a", "pid" => Process.pid, "state" => "running", "uptime" => 1.5,
             "nodes" => [] }.freeze
  private_constant :STATUS

  def setup
    @directory = Dir.mktmpdir
    @path = File.join(@directory, "a.sock")
    @server = UNIXServer.new(@path)
    @client = Skep::Control::Client.new(@path)
  end

  def teardown
    @server.close unless @server.closed?
    FileUtils.remove_entry(@directory)
  end

  test "sends a command with its arguments and returns the answer" do
    asked = answering('{"v":1,"done":"scale"}')

    assert_equal({ "v" => 1, "done" => "scale" }, @client.call("scale", nodes: 4))
    assert_equal({ "v" => 1, "command" => "scale", "nodes" => 4 }, JSON.parse(asked.value))
    assert_equal Process.pid, @client.peer
  end

  test "returns an answer that arrives in pieces" do
    serving = Thread.new do
      socket = @server.accept
      socket.gets
      ['{"v":1,"st', 'atus":', "#{JSON.generate(STATUS)}}\n"].each { |piece| socket.write(piece) }
      socket.close
    end

    assert_equal STATUS, @client.status
    serving.join
  end

  test "what an older supervisor doesn't know is one sentence, and isn't sent to it" do
    asked = older_supervisor
    { -> { @client.must_take("restart", [:work]) } => "the command restart with work",
      -> { @client.must_take("scale", %w[works]) } => "the command scale with works",
      -> { @client.call("profile", node: 3) } => "the command profile with node",
      -> { @client.history } => "the command history" }.each do |call, what|
      error = assert_raises(Skep::Control::OtherVersion, &call)
      assert_equal "the supervisor at #{@path} runs another version of skep (0.0.9; this is " \
                   "#{Skep::VERSION}) and doesn't know #{what}: stop the swarm and start it " \
                   "again with this version", error.message
    end
    @client.must_take("restart", %i[node wait])
    assert_equal %w[commands status profile history], asked.uniq
  end

  test "a field that the supervisor names is sent to it" do
    answering(JSON.generate(v: 1, commands: { "restart" => %w[work] }))
    assert_nil @client.must_take("restart", [:work])
  end

  test "gives up on a swarm that doesn't answer in time" do
    error = assert_raises(Skep::Control::Unreachable) { @client.call("status", timeout: 0.01) }
    assert_match(/no swarm answers at #{@path}, it is silent: is it running\?/, error.message)
  end

  test "raises Unreachable if nothing listens, or the path can't be a socket's" do
    @server.close
    ["#{@path}.gone", @path, "/#{"x" * 200}"].each do |path|
      client = Skep::Control::Client.new(path)
      [-> { client.call("status") }, -> { client.call_async("status") }, -> { client.events },
       -> { client.history },
       -> { client.history_async }].each do |call|
        assert_match(/no swarm answers/, assert_raises(Skep::Control::Unreachable, &call).message)
      end
    end
  end

  test "raises Unreachable if another program listens at the socket" do
    ["", "HTTP/1.1 400\r\n", "[]\n", '{"status":[]}'].each do |text|
      answering(text)
      assert_raises(Skep::Control::Unreachable, text) { @client.status }
    end
  end

  test "raises CommandRefused with the swarm's sentence" do
    answering('{"error":"no descriptors"}')
    error = assert_raises(Skep::Control::CommandRefused) { @client.status }

    assert_equal "no descriptors", error.message
  end

  test "returns a local status only if the process that answers is the one in it" do
    answering(JSON.generate({ status: STATUS }))
    assert_equal STATUS, @client.local_status
    answering(JSON.generate({ status: { **STATUS, "pid" => Process.ppid } }))
    error = assert_raises(Skep::Control::PidMismatch) { @client.local_status }

    assert_match(/reports process #{Process.ppid}, but process #{Process.pid} answers/,
                 error.message)
  end

  test "sends a command without waiting, and reads the answer once it is there" do
    request = @client.call_async("status")
    socket = @server.accept
    assert_nil request.read
    assert_equal Process.pid, request.peer
    socket.write('{"v":1,"error":"no"}')
    assert_nil request.read
    socket.close

    assert_equal({ "v" => 1, "error" => "no" }, request.read)
  ensure
    request&.close
  end

  test "doesn't wait for a server whose queue is full" do
    @server.listen(0)
    requests = []
    error = assert_raises(Skep::Control::Unreachable) do
      10.times { requests << @client.call_async("status") }
    end

    assert_match(/resource temporarily unavailable/, error.message)
  ensure
    requests.each(&:close)
  end

  private

  # Returns the commands that it was asked for.
  def older_supervisor
    asked = []
    Thread.new do
      while (socket = @server.accept)
        asked << JSON.parse(socket.gets)["command"]
        error = "unknown command #{asked.last.inspect}: there are status, restart, scale"
        answer = asked.last == "status" ? { status: { **STATUS, "skep" => "0.0.9" } } : { error: }
        socket.puts(JSON.generate({ v: 1, **answer }))
        socket.close
      end
    rescue IOError # it is closed at the end
      nil
    end
    asked
  end

  # Answers the next client; the thread's value is the request.
  def answering(text)
    Thread.new do
      socket = @server.accept
      request = socket.gets
      socket.write(text)
      socket.close
      request
    end
  end
end
