# frozen_string_literal: true

require "fileutils"
require "open3"
require "skep/os"
require "tmpdir"

# Debian's Redis server in a temporary directory, on a UNIX socket only, for trying the examples.
# Its data survives a crash, and is deleted at its stop.
#
#   redis = RedisServer.start
#   redis.url                         # => "unix:///tmp/…/redis.sock"
#   redis.ask("LLEN", "queue:default")
#   redis.crash { … }                 # kills it, calls the block, and starts it again
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
    log.close # later output is dropped
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

  # Returns what redis-cli prints.
  def ask(*command)
    output, status = Open3.capture2e("redis-cli", "-s", socket, *command.map(&:to_s))
    status.success? ? output.chomp : raise("redis-cli: #{output}")
  end

  private

  def socket = "#{@directory}/redis.sock"

  def kill
    @pidfd.signal(:KILL) if @pidfd.alive?
    @pidfd.wait(timeout: SECONDS)
    @pidfd.close
  end

  def await(log)
    output = +""
    until output.match?(READY)
      log.wait_readable(SECONDS) or give_up(output)
      output << log.readpartial(65_536)
    end
  rescue EOFError
    give_up(output)
  end

  def give_up(output)
    stop
    raise "redis-server doesn't start: #{output}"
  end
end
