# frozen_string_literal: true

require "etc"
require "fileutils"
require "open3"
require "tmpdir"

# Debian's PostgreSQL server in a temporary directory, on a UNIX socket only, for trying the
# examples. Its data is deleted at its stop.
#
#   postgres = Postgres.start
#   postgres.url                  # => "postgresql:///postgres?host=/tmp/…&user=skep"
#   postgres.load("schema.sql")
#   postgres.restart("immediate") # like a crash; "fast" closes connections first
#   postgres.kill                 # kill -9 of all its processes; postgres.start starts it again
#   postgres.stop
class Postgres
  USER = "postgres" # PostgreSQL doesn't run as root
  INITDB = %w[--auth=trust --username=skep --encoding=UTF8 --locale=C --no-sync].freeze

  def self.start = new.tap(&:start)

  def initialize
    @directory = Dir.mktmpdir("skep-postgres-")
    FileUtils.chown(USER, nil, @directory) if Process.uid.zero?
    run("initdb", *INITDB, "-D", data)
  end

  def url = "postgresql:///postgres?host=#{@directory}&user=skep"

  def start
    settings = "-k #{@directory} -c listen_addresses= -c fsync=off"
    run("pg_ctl", "start", "-w", "-D", data, "-l", "#{@directory}/log", "-o", settings)
  end

  def restart(how)
    run("pg_ctl", "stop", "-w", "-D", data, "-m", how)
    yield if block_given?
    start
  end

  # Committed data survives, because the kernel has it.
  def kill
    server = Integer(File.foreach("#{data}/postmaster.pid").first)
    children = File.read("/proc/#{server}/task/#{server}/children").split.map { |pid| Integer(pid) }
    [server, *children].map { |pid| kill_process(pid) }.compact.each do |pidfd|
      pidfd.wait(timeout: 10) or raise "a process of PostgreSQL doesn't end"
    end
    # A process that isn't reaped seems to be alive.
    FileUtils.rm_f(["#{data}/postmaster.pid", *Dir["#{@directory}/.s.PGSQL.*"]])
  end

  def stop
    run("pg_ctl", "stop", "-w", "-D", data, "-m", "immediate")
    FileUtils.rm_rf(@directory)
  end

  def load(file) = query(File.read(file))

  # Returns what psql prints: a line for each row, with | between columns.
  def query(sql) = run("psql", "-qAt", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql)

  private

  def kill_process(pid)
    Skep.pidfd(pid).tap { |pidfd| pidfd.signal(:KILL) }
  rescue Errno::ESRCH # a child that has ended meanwhile
    nil
  end

  def data = "#{@directory}/data"

  def run(program, *arguments)
    command = [*unprivileged, tool(program), *arguments]
    output, status = Open3.capture2e({ "LC_ALL" => "C" }, *command, chdir: @directory)
    status.success? ? output : raise("#{program}: #{output}")
  end

  def unprivileged
    Process.uid.zero? ? ["setpriv", "--reuid=#{USER}", "--regid=#{USER}", "--clear-groups"] : []
  end

  # Debian has the server's own programs in a folder for each version.
  def tool(name)
    folders = [*Dir["/usr/lib/postgresql/*/bin"].sort.reverse, *ENV["PATH"].split(":")]
    folders.map { |folder| "#{folder}/#{name}" }.find { |path| File.executable?(path) } or
      raise "there is no #{name} here: bin/setup examples"
  end
end
