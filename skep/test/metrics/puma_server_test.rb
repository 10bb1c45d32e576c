# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/metrics"

class PumaServerTest < Skep::TestCase
  def setup
    Skep::Metrics.load_puma
    require "skep/metrics/puma_server"
    @directory = Dir.mktmpdir
  rescue Skep::Metrics::MissingGem
    skip "there is no puma"
  end

  def teardown
    @server&.close
    FileUtils.remove_entry(@directory) if @directory
  end

  test "serves an application at a TCP socket" do
    listener = serve(TCPServer.new("127.0.0.1", 0))

    assert_match(/\AHTTP.* 200 OK.*it is \/a\z/m, get(TCPSocket.new(*listener.values_at(3, 1))))
  end

  test "serves an application at a UNIX socket" do
    serve(UNIXServer.new("#{@directory}/socket"))

    assert_match(/ 200 OK.*it is \/a\z/m, get(UNIXSocket.new("#{@directory}/socket")))
  end

  test "answers 400 to garbage, and 413 to a large body" do
    serve(UNIXServer.new("#{@directory}/socket"), http_content_length_limit: 10)
    connect = -> { UNIXSocket.new("#{@directory}/socket") }

    assert_match(/ 400 /, ask(connect.call, "\0\0 / HTTP/9.9\r\n\r\n"))
    assert_match(/ 413 /, ask(connect.call, "POST /a HTTP/1.1\r\nHost: x\r\n" \
                                            "Content-Length: 11\r\n\r\nhello world"))
  end

  test "writes the application's errors to the given IO" do
    errors = StringIO.new
    serve(UNIXServer.new("#{@directory}/socket"), errors:)
    get(UNIXSocket.new("#{@directory}/socket"))

    assert_includes errors.string, "asked for /a"
  end

  test "finishes the request in progress before it closes" do
    @started, @finish = Queue.new, Queue.new
    serve(UNIXServer.new("#{@directory}/socket"))
    request = Thread.new { get(UNIXSocket.new("#{@directory}/socket")) }
    @started.pop
    closing = Thread.new { @server.close }
    @finish << true

    assert_match(/it is \/a\z/, request.value)
    closing.join
  end

  private

  def serve(socket, **options)
    app = lambda do |env|
      @started&.push(true)
      @finish&.pop
      env["rack.errors"].puts("asked for #{env["PATH_INFO"]}")
      [200, { "content-type" => "text/plain" }, ["it is #{env["PATH_INFO"]}"]]
    end
    @server = Skep::Metrics::PumaServer.new(app, **options).serve(socket)
    socket.is_a?(TCPServer) ? socket.addr : nil
  end

  def get(socket) = ask(socket, "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

  def ask(socket, request)
    socket.write(request)
    wait_readable(socket)
    socket.read
  ensure
    socket.close
  end
end
