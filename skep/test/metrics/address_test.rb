# frozen_string_literal: true

require "test_helper"
require "skep/metrics"
require "tmpdir"

class AddressTest < Skep::TestCase
  test "listens at the address, and returns the port that it got" do
    listening("127.0.0.1:0") { |_, name| assert_match(/\A127\.0\.0\.1:[1-9]\d*\z/, name) }
    listening("localhost:0") { |_, name| assert_match(/\A127\.0\.0\.1:[1-9]\d*\z/, name) }
    listening("0.0.0.0:0") { |_, name| assert_match(/\A0\.0\.0\.0:[1-9]\d*\z/, name) }
  end

  test "listens at a path that every user may connect to, and removes the socket" do
    Dir.mktmpdir do |directory|
      path = "#{directory}/metrics"
      listening("unix:#{path}") do |_, name|
        assert_equal "unix:#{path}", name
        assert_equal 0o666, File.stat(path).mode & 0o777
      end
      refute_path_exists path
    end
  end

  test "replaces a stale socket, but neither a file nor a socket with a listener" do
    Dir.mktmpdir do |directory|
      UNIXServer.new("#{directory}/metrics").close
      listening("unix:#{directory}/metrics") do
        assert_raises(Errno::EADDRINUSE) { address("unix:#{directory}/metrics").listen }
      end
      File.write("#{directory}/file", "kept")
      assert_raises(Errno::EADDRINUSE) { address("unix:#{directory}/file").listen }
      assert_equal "kept", File.read("#{directory}/file")
    end
  end

  test "raises the system's error for an address that can't be used" do
    listening("127.0.0.1:0") do |_, name|
      assert_raises(Errno::EADDRINUSE) { address(name).listen }
    end
    assert_raises(Errno::EINVAL) { address("300.1.1.1:0").listen }
    assert_raises(Errno::EINVAL) { address("unix:/#{"x" * 200}").listen }
    assert_raises(Errno::EADDRNOTAVAIL) { address("192.0.2.1:0").listen }
  end

  private

  def address(text) = Skep::Metrics::Address.new(text)

  def listening(text)
    address = address(text)
    server = address.listen
    yield server, Skep::Metrics::Address.of(server)
  ensure
    address.clear
    server&.close
  end
end
