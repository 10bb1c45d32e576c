# frozen_string_literal: true

# A cleaner of /tmp removes the lock file of a running swarm. A second swarm with the same name is
# still refused, and the first swarm keeps its socket. USR1 recreates both files.
require_relative "scenario"

Scenario.play do
  first = run_swarm(IDLE)
  first.await("node_ready", times: 3)
  socket = "#{first.directory}/idle.sock"
  inode = File.lstat(socket).ino
  second = lambda do |why|
    swarm = run_swarm(IDLE, env: { "SKEP_RUN_DIR" => first.directory })
    status = swarm.wait
    must("refuse a second swarm #{why}: #{status.inspect} #{swarm.stderr}") do
      [1, 78].include?(status.exitstatus) &&
        swarm.stderr.match?(/already runs.*\(pid #{first.pid}\)/)
    end
    must("keep the first swarm's socket #{why}") { File.lstat(socket).ino == inode }
    must("leave the first swarm alone #{why}") { first.status("idle")["pid"] == first.pid }
  end
  second.call("while the lock exists")
  File.unlink("#{socket}.lock")
  2.times { second.call("without the lock") }

  File.unlink("#{socket}.lock")
  File.unlink(socket)
  first.signal(:USR1)
  first.follow("USR1 recreates the files") { File.socket?(socket) && File.file?("#{socket}.lock") }
  inode = File.lstat(socket).ino
  first.follow("the new socket answers") { first.status("idle")["pid"] == first.pid }
  second.call("after USR1 recreated the files")

  # A socket that another process has bound to the path stays when the swarm ends.
  File.unlink(socket)
  UNIXServer.open(socket) do
    must("stop with 0; #{first.account}") { first.stop.exitstatus == 0 }
    must("keep the other process's socket") { File.socket?(socket) }
  end
end
