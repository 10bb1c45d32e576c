# frozen_string_literal: true

require "fork/support/guard_case"
require "tmpdir"

class ConnectedSocketsTest < GuardCase
  test "finds a connected TCP socket, and reports its peer" do
    server, client, = connection
    finding = finding_of(client)
    assert_equal [:socket, :breaks], finding.to_h.values_at(:kind, :severity)
    assert_equal "a TCP socket connected to 127.0.0.1:#{server.addr[1]}", finding.what
    assert_equal "a TCPSocket, fd #{client.fileno}", finding.where
  end

  test "finds a connected TCP socket over IPv6" do
    begin
      server = own(TCPServer.new("::1", 0))
    rescue SystemCallError
      skip "no IPv6 here"
    end
    client = own(TCPSocket.new("::1", server.addr[1]))
    assert_equal "a TCP socket connected to [::1]:#{server.addr[1]}", finding_of(client).what
  end

  test "ignores listening, unconnected and closed sockets" do
    server, client, = connection
    bound = own(UDPSocket.new.tap { |socket| socket.bind("127.0.0.1", 0) })
    fresh = own(Socket.new(:INET, :STREAM))
    numbers = [server, bound, fresh, client].map(&:fileno)
    client.close
    assert_empty findings_of(*numbers)
  end

  test "reports where a socket was made if Ruby traces allocations" do
    out = output_of(<<~RUBY)
      require "socket"
      require "objspace"
      ObjectSpace.trace_object_allocations_start
      server = TCPServer.new("127.0.0.1", 0)
      client = TCPSocket.new("127.0.0.1", server.addr[1])
      puts Skep::Fork::Guard.check.map(&:where)
      client.close
    RUBY
    assert_match(/\Amade at -e:6, fd \d+\n\z/, out)
  end

  test "reports a server's path to the client, and the client's pid to the server" do
    Dir.mktmpdir do |folder|
      server = own(UNIXServer.new("#{folder}/s"))
      pid, reader = in_child do |writer|
        UNIXSocket.open("#{folder}/s") do |client|
          server.close
          client.readpartial(1) # Only an accepted socket has a name.
          what = findings_of(client).map(&:what)
          writer.write(what.join)
          client.read
        end
      end
      accepted = own(server.accept).tap { |socket| socket.write("!") }
      assert_equal "a UNIX socket connected to pid #{pid}", finding_of(accepted).what
      found = wait_readable(reader).readpartial(4_096) # while the peer is open
      accepted.close
      assert_equal "a UNIX socket connected to #{folder}/s", found
      Process.wait(pid)
    end
  end

  test "reports a socket pair as a note, wherever its other end is" do
    pair = UNIXSocket.pair.map { |socket| own(socket) }
    finding = finding_of(*pair)
    assert_equal [:pair, :note], finding.to_h.values_at(:kind, :severity)
    pair.each { |socket| assert_match(/\bfd #{socket.fileno}\b/, finding.where) }
    pair.last.close
    assert_equal [:pair, :note], finding_of(pair.first).to_h.values_at(:kind, :severity)
  end

  test "reports the abstract name of a peer" do
    skip "Linux alone has abstract names" unless RUBY_PLATFORM.include?("linux")
    name = "skep-guard-#{Process.pid}"
    server = own(UNIXServer.new("\0#{name}"))
    client = own(UNIXSocket.new("\0#{name}"))
    own(server.accept)
    assert_equal "a UNIX socket connected to @#{name}", finding_of(client).what
  end

  test "reports a connected UDP socket as a note" do
    client = own(UDPSocket.new.tap { |socket| socket.connect("127.0.0.1", 9) })
    finding = finding_of(client)
    assert_equal [:datagram, :note], finding.to_h.values_at(:kind, :severity)
    assert_equal "a UDP socket connected to 127.0.0.1:9", finding.what
  end

  test "reports a socket and its copies once" do
    _, client, = connection
    copy = own(client.dup)
    assert_match(/fd #{client.fileno}, fd #{copy.fileno}\z/, finding_of(client, copy).where)
  end

  test "ignores the given exceptions, their copies and other ends" do
    _, client, = connection
    copy = own(client.dup)
    reader, writer = IO.pipe.each { |io| own(io) }
    holder = Struct.new(:to_io).new(reader)
    assert_empty findings_of(client, copy, reader, writer, except: [client, holder])
  end

  test "ignores the sockets of the standard streams" do
    ours, theirs = UNIXSocket.pair.map { |socket| own(socket) }
    check = "require 'skep/fork'; puts Skep::Fork::Guard.check; $stdout.flush"
    load_path = File.expand_path("../../../../load_path", __dir__)
    pid = spawn(RbConfig.ruby, "-r#{load_path}", "-e", check,
                in: theirs, out: theirs, err: theirs)
    theirs.close
    assert_equal "", wait_readable(ours).read
    assert_predicate Process.wait2(pid).last, :success?
  end

  test "finds Ruby's sockets without /proc" do
    _, client, = connection
    inventory = ProcessInventory.new(root: "/nowhere")
    whats = Guard.const_get(:ConnectedSockets).new(inventory).findings.map(&:what)
    assert_includes whats, "a socket connected to #{client.remote_address.inspect_sockaddr}"
  end
end
