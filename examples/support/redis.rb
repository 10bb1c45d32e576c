# frozen_string_literal: true

require "fileutils"
require "open3"
require "skep/os"
require "tmpdir"

# A Redis server of Debian's in a temporary directory, on a UNIX socket alone, for trying the
# examples: what it was told outlives its crashes, and nothing outlives its stop.
#
#   redis = RedisServer.start
#   redis.url                         # => "unix:///tmp/…/redis.sock"
#   redis.ask("LLEN", "queue:default")
#   redis.crash { … }                 # and it is there again
#   redis.stop
class RedisServer
  SETTINGS = { port: 0, appendonly: "yes", appendfsync: "no", save: "" }.freeze
  READY = /ready to accept connections/i
  SECONDS = 20.0

  def self.start = new.tap(&:start)

  def initialize
    @directory = Dir.mktmpdir("skep-redis-")
    @settings = { dir: @directory, unixsocket: socket, **SETTINGS }
                .flat_map { |name, value| ["--#{name}", value.to_s] }
  end

  def url = "unix://#{socket}"

  def start
    log, writer = IO.pipe
    @pidfd = Skep.pidfd(spawn("redis-server", *@settings, out: writer, err: writer, pgroup: true))
    writer.close
    await(log)
  rescue Errno::ENOENT
    raise "there is no redis-server here: bin/setup examples"
  ensure
    log.close # it writes on, to nobody
  end

  def crash
    kill
    yield if block_given?
    start
  end

  def stop
    kill
    FileUtils.rm_rf(@directory)
  end

  # What redis-cli prints.
  def ask(*command)
    said, status = Open3.capture2e("redis-cli", "-s", socket, *command.map(&:to_s))
    status.success? ? said.chomp : raise("redis-cli: #{said}")
  end

  private

  def socket = "#{@directory}/redis.sock"

  def kill
    @pidfd.signal(:KILL) if @pidfd.alive?
    @pidfd.wait(timeout: SECONDS)
    @pidfd.close
  end

  def await(log)
    said = +""
    until said.match?(READY)
      log.wait_readable(SECONDS) or give_up(said)
      said << log.readpartial(65_536)
    end
  rescue EOFError
    give_up(said)
  end

  def give_up(said)
    stop
    raise "redis-server doesn't begin: #{said}"
  end
end
