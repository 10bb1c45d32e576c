# frozen_string_literal: true

require "test_helper"
require "skep/guest"
require "socket"
require "tmpdir"

class PumaTest < Skep::TestCase
  # Runs a Puma in a process as a node: its descriptor 3 is a listening socket. Its node stops at
  # the end of stdin.
  PROGRAM = <<~'RUBY'
    require "skep/puma"
    layout = Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 2)
    page = Skep::OS::SharedPage.create(layout.total)
    node = Skep::Swarm::Node.new(id: 0, swarm: "a", mold: 0, page:, layout:, stop_timeout: 20,
                                 report: ->(type, facts) { puts "#{type} #{facts}" if type == "ready" })
    $stdout.sync = true
    Thread.new { [$stdin.read, node.__stop] }
    reader = Skep::Swarm::IPC::Scoreboard::Reader.new(page, layout)
    seen = -> { reader.items_in_flight(Struct.new(:page_index).new(0)).map(&:first).join }
    app = lambda do |env|
      raise "a bug" if env["PATH_INFO"] == "/bug"

      [200, {}, ["#{seen.call}; #{Thread.main.object_id == Thread.current.object_id}"]]
    end
    puma = Skep::Puma.new(threads: 2, config: ENV.fetch("CONFIG", "-")) { app unless ENV["CONFIG"] }
    puma.run(node, puma.handler)
    puts "stopped"
  RUBY
  private_constant :PROGRAM

  def setup
    super
    Gem.loaded_specs.key?("puma") or missing "puma, in the bundle"
    @directory = Dir.mktmpdir
  end

  def teardown
    FileUtils.remove_entry(@directory) if @directory
    super
  end

  test "answers at the passed TCP socket, and reports what is in flight without its query" do
    server = TCPServer.new("127.0.0.1", 0)
    serve(server) do
      answer = ask(TCPSocket.new("127.0.0.1", server.addr[1]), "/orders?token=secret")
      assert_match(/\AHTTP\S+ 200 .*GET \/orders; false\z/m, answer)
    end
  end

  test "answers at the passed UNIX socket" do
    serve(UNIXServer.new("#{@directory}/socket")) do
      assert_match(/ 200 /, ask(UNIXSocket.new("#{@directory}/socket"), "/"))
    end
  end

  test "takes application, environment and timeouts from Puma's configuration file" do
    File.write("#{@directory}/puma.rb", <<~RUBY)
      workers 4
      threads 7, 9
      environment "production"
      app { |env| env["PATH_INFO"] == "/bug" ? raise("a bug") : [200, {}, [Thread.list.size.to_s]] }
    RUBY
    server = TCPServer.new("127.0.0.1", 0)
    serve(server, "CONFIG" => "#{@directory}/puma.rb") do
      port = server.addr[1]
      assert_match(/ 200 /, ask(TCPSocket.new("127.0.0.1", port), "/"))
      answer = ask(TCPSocket.new("127.0.0.1", port), "/bug")
      assert_match(/ 500 /, answer)
      refute_includes answer, "a bug"
    end
  end

  test "says how to start it, if no socket was passed" do
    _, err, = run_program(PROGRAM, env: { "LISTEN_FDS" => nil }, gems: :bundler)
    assert_includes err, "start it with `skep-listen 9292 skep run FILE`"
    assert_includes err, "Skep::Guest::WrongConfiguration"
  end

  private

  def serve(server, **env)
    server.close_on_exec = false
    load_path = File.expand_path("../../load_path", __dir__)
    command = [RbConfig.ruby, "-w", "-r#{load_path}", "-e", PROGRAM]
    IO.popen([{ "LISTEN_FDS" => "1", **env }, *command, { 3 => server }], "r+") do |puma|
      assert_match(/\Aready/, puma.gets)
      yield
      puma.close_write
      assert_equal "stopped\n", puma.gets
    end
  ensure
    server.close
  end

  def ask(socket, path)
    socket.write("GET #{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    socket.wait_readable(Patience.of(30)) or flunk "no answer"
    socket.read
  ensure
    socket.close
  end
end
