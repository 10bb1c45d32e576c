# frozen_string_literal: true

# A cleaner of /tmp removes the lock of a running swarm: no second one of its name gets in, and none
# takes away the first one's socket. USR1 makes both files again.
require_relative "scenario"

Scenario.play do
  first = run_swarm(IDLE)
  first.await("node_ready", times: 3)
  socket = "#{first.directory}/idle.sock"
  inode = File.lstat(socket).ino
  second = lambda do |why|
    swarm = run_swarm(IDLE, env: { "SKEP_RUN_DIR" => first.directory })
    status = swarm.wait
    must("refuse a second one #{why}: #{status.inspect} #{swarm.stderr}") do
      [1, 78].include?(status.exitstatus) &&
        swarm.stderr.match?(/already runs.*\(pid #{first.pid}\)/)
    end
    must("leave the first its socket #{why}") { File.lstat(socket).ino == inode }
    must("leave the first alone #{why}") { first.status("idle")["pid"] == first.pid }
  end
  second.call("beside it")
  File.unlink("#{socket}.lock")
  2.times { second.call("without its lock") }

  File.unlink("#{socket}.lock")
  File.unlink(socket)
  first.signal(:USR1)
  first.follow("its files are back") { File.socket?(socket) && File.file?("#{socket}.lock") }
  inode = File.lstat(socket).ino
  first.follow("it answers") { first.status("idle")["pid"] == first.pid }
  second.call("after its files were made again")

  # What another has put in its place stays at its end.
  File.unlink(socket)
  UNIXServer.open(socket) do
    must("stop with 0; #{first.account}") { first.stop.exitstatus == 0 }
    must("leave another's socket") { File.socket?(socket) }
  end
end
