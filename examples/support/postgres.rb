# frozen_string_literal: true

require "etc"
require "fileutils"
require "open3"
require "tmpdir"

# A PostgreSQL server of Debian's in a temporary directory, on a UNIX socket alone, for trying the
# examples: it keeps nothing.
#
#   postgres = Postgres.start
#   postgres.url                  # => "postgresql:///postgres?host=/tmp/…&user=skep"
#   postgres.load("schema.sql")
#   postgres.restart("immediate") # as a crash would; "fast" cuts connections in good order
#   postgres.kill                 # kill -9 of all its processes; postgres.start starts it again
#   postgres.stop
class Postgres
  USER = "postgres" # for root, as whom it doesn't run
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

  # What the server has committed is kept, because the kernel has it.
  def kill
    server = Integer(File.foreach("#{data}/postmaster.pid").first)
    children = File.read("/proc/#{server}/task/#{server}/children").split.map { |pid| Integer(pid) }
    [server, *children].map { |pid| kill_process(pid) }.compact.each do |pidfd|
      pidfd.wait(timeout: 10) or raise "a process of PostgreSQL doesn't end"
    end
    # A process that nobody reaps seems to be alive.
    FileUtils.rm_f(["#{data}/postmaster.pid", *Dir["#{@directory}/.s.PGSQL.*"]])
  end

  def stop
    run("pg_ctl", "stop", "-w", "-D", data, "-m", "immediate")
    FileUtils.rm_rf(@directory)
  end

  def load(file) = query(File.read(file))

  # What psql prints: a line a row, columns with | between them.
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
    said, status = Open3.capture2e({ "LC_ALL" => "C" }, *command, chdir: @directory)
    status.success? ? said : raise("#{program}: #{said}")
  end

  def unprivileged
    Process.uid.zero? ? ["setpriv", "--reuid=#{USER}", "--regid=#{USER}", "--clear-groups"] : []
  end

  # Debian keeps the server's own programs out of the way, a folder a version.
  def tool(name)
    folders = [*Dir["/usr/lib/postgresql/*/bin"].sort.reverse, *ENV["PATH"].split(":")]
    folders.map { |folder| "#{folder}/#{name}" }.find { |path| File.executable?(path) } or
      raise "there is no #{name} here: bin/setup examples"
  end
end
