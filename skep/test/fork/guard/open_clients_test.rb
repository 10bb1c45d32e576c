# frozen_string_literal: true

require "fork/support/guard_case"

class OpenClientsTest < GuardCase
  test "loads no library" do
    assert_equal "[]", output_of(<<~RUBY).strip
      before = $LOADED_FEATURES.dup
      autoload :PG, "no/such/file"
      Skep::Fork::Guard.check
      p ($LOADED_FEATURES - before).grep_v(/socket|io.wait|enc.trans/)
    RUBY
  end

  test "finds an HTTP connection, and doesn't report its socket as well" do
    require "net/http"
    server = own(TCPServer.new("127.0.0.1", 0))
    http = Net::HTTP.start("127.0.0.1", server.addr[1])
    own(server.accept).close
    finding = Guard.check.find { |one| one.what.include?(":#{server.addr[1]}") }
    assert_equal "an open Net::HTTP of 127.0.0.1:#{server.addr[1]}", finding.what
    assert_equal 1, Guard.check.count { |one| one.what.end_with?(":#{server.addr[1]}") }
    http.finish
    assert_empty(Guard.check.select { |one| one.what.end_with?(":#{server.addr[1]}") })
  end

  test "finds a TLS session, and never reads from it" do
    require "openssl"
    client, server = session
    server.write("hello")
    finding = finding_of(client.to_io)
    assert_equal "an open OpenSSL::SSL::SSLSocket", finding.what
    assert_predicate finding, :breaks?
    assert_equal "hello", client.readpartial(5)
  end

  test "finds clients by the name of their class, and ignores closed ones" do
    out = output_of(<<~RUBY)
      require "socket"
      module PG
        Connection = Struct.new(:socket, :finished?, :host, :port)
      end
      server = TCPServer.new("127.0.0.1", 0)
      socket = TCPSocket.new("127.0.0.1", server.addr[1])
      open = PG::Connection.new(socket.fileno, false, "db", 5432)
      closed = PG::Connection.new(nil, true, "gone", 5432)
      broken = PG::Connection.allocate
      def broken.finished? = raise("never opened")
      puts Skep::Fork::Guard.check, socket.fileno
    RUBY
    first, second, more = out.lines
    assert_match(/\Aan open PG::Connection of db:5432, fd #{second.to_i}: /, first)
    assert_nil more
  end

  test "ignores a Redis client that compares its pid, and its socket" do
    client = <<~RUBY
      require "socket"
      class RedisClient
        Config = Struct.new(:host, :port, :inherit_socket)
        Held = Struct.new(:at)
        attr_reader :config
        def initialize(inherit_socket)
          @server = TCPServer.new("127.0.0.1", 0)
          socket = TCPSocket.new("127.0.0.1", @server.addr[1])
          @config = Config.new("127.0.0.1", @server.addr[1], inherit_socket)
          @raw_connection = Object.new
          buffered = Object.new
          buffered.instance_variable_set(:@io, socket)
          @raw_connection.instance_variable_set(:@io, buffered)
        end
        def connected? = true
      end
    RUBY
    check = "puts Skep::Fork::Guard.check; redis.config"
    assert_equal "", output_of("#{client}redis = RedisClient.new(nil)\n#{check}")
    out = output_of("#{client}redis = RedisClient.new(true)\n#{check}")
    assert_equal 1, out.lines.size
    assert_match(/\Aan open RedisClient of 127\.0\.0\.1:\d+, fd \d+: /, out)
  end

  test "finds a client's socket by its peer's address if the client doesn't give it" do
    out = output_of(<<~RUBY)
      require "socket"
      require "fiddle"
      Trilogy = Struct.new(:connection_options, :closed?)
      server = TCPServer.new("127.0.0.1", 0)
      call = lambda do |name, *arguments, types|
        Fiddle::Function.new(Fiddle.dlopen(nil)[name], types, Fiddle::TYPE_INT).call(*arguments)
      end
      address = Socket.sockaddr_in(server.addr[1], "127.0.0.1")
      int, pointer = Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP
      fd = call["socket", Socket::AF_INET, Socket::SOCK_STREAM | Socket::SOCK_CLOEXEC, 0, [int] * 3]
      call["connect", fd, address, address.bytesize, [int, pointer, int]]
      trilogy = Trilogy.new({ host: "db", port: server.addr[1] }, false)
      puts Skep::Fork::Guard.check.map { |one| [one.what, one.where].join(", ") }
      puts trilogy.closed?, fd
    RUBY
    finding, _, fd = out.lines(chomp: true)
    assert_equal ["an open Trilogy of db, fd #{fd}", 3], [finding, out.lines.size]
  end

  test "reports a connection that Active Record discards in a child as a note" do
    out = output_of(<<~RUBY)
      module ActiveRecord
        module ConnectionAdapters
          class AbstractAdapter
            def initialize(raw) = @raw_connection = raw
          end
        end
      end
      module PG
        Connection = Struct.new(:socket, :finished?, :host, :port)
      end
      require "socket"
      server = TCPServer.new("127.0.0.1", 0)
      socket = TCPSocket.new("127.0.0.1", server.addr[1])
      raw = PG::Connection.new(socket.fileno, false, "db", 5432)
      adapter = ActiveRecord::ConnectionAdapters::AbstractAdapter.new(raw)
      puts Skep::Fork::Guard.check.map(&:severity), raw.host, adapter.class
    RUBY
    assert_equal %w[note db], out.lines(chomp: true).first(2)
  end

  test "reports a database's file and the locks on it as one" do
    out = output_of(<<~RUBY)
      require "tempfile"
      module SQLite3
        Database = Struct.new(:filename, :closed?)
      end
      file = Tempfile.new
      file.flock(File::LOCK_SH)
      bases = [SQLite3::Database.new(file.path, false), SQLite3::Database.new("", false)]
      puts Skep::Fork::Guard.check.map(&:what), bases.size
    RUBY
    assert_match(%r{\Aan open SQLite3::Database of /\S+\n2\n\z}, out)
  end

  private

  # Both ends of a TLS session over a pair of sockets.
  def session
    ours, theirs = UNIXSocket.pair.map { |socket| own(socket) }
    server = OpenSSL::SSL::SSLSocket.new(theirs, certified)
    client = OpenSSL::SSL::SSLSocket.new(ours)
    accepting = Thread.new { server.accept }
    client.connect
    accepting.join
    [client, server]
  end

  def certified
    key = OpenSSL::PKey::EC.generate("prime256v1")
    certificate = OpenSSL::X509::Certificate.new
    certificate.version = 2
    certificate.serial = 1
    certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=test")
    certificate.public_key = key
    certificate.not_before = Time.now - 60
    certificate.not_after = Time.now + 600
    certificate.sign(key, "SHA256")
    OpenSSL::SSL::SSLContext.new.tap { |context| context.add_certificate(certificate, key) }
  end
end
