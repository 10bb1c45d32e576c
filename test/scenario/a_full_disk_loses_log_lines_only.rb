# frozen_string_literal: true

# The disk of the log is full, then has space again. Later the log is removed, and the run directory
# is moved away. Nodes are still replaced; lost lines are counted and logged.
require_relative "scenario"
require "fileutils"

class Scenario
  # Mounts a tiny file system and returns its path; nil without the right to mount.
  def tiny_disk
    path = File.join(directory, "disk")
    Dir.mkdir(path)
    mounted = system("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", path, err: File::NULL)
    return unless mounted

    at_end { system("umount", "--lazy", path) }
    path
  end

  def kill_followed(swarm, feed)
    victim = swarm.status("idle")["nodes"].first["pid"]
    swarm.kill(victim)
    deadline = Skep::OS.now + SECONDS
    until feed.read.any? { |event| event["event"] == "node_ready" }
      waited = feed.to_io.wait_readable([deadline - Skep::OS.now, 0].max)
      raise Failed, "no replacement within #{SECONDS} s" if !waited || feed.ended?
    end
  end
end

Scenario.play do
  disk = tiny_disk or missing "root and mount(8), to make a disk"
  log = File.join(disk, "log")
  swarm = run_swarm(IDLE, arguments: ["--log", log])
  swarm.follow("all are ready") { File.exist?(log) && File.read(log).scan("node_ready").size == 3 }
  feed = swarm.follow_socket("idle")
  ballast = File.join(disk, "ballast")
  begin
    File.open(ballast, "w") { |file| file.sync = true; loop { file.write("x" * 4096) } }
  rescue Errno::ENOSPC
    before = File.size(log)
  end
  20.times { kill_followed(swarm, feed) }
  must("find the disk full: #{before}, #{File.size(log)}") { File.size(log) < before + 4096 }

  File.unlink(ballast)
  kill_followed(swarm, feed)
  swarm.follow("the log reports the lost lines") { File.read(log)[/"lost_lines":\d+\D/] }
  lost = File.read(log)[/"lost_lines":(\d+)/, 1].to_i
  must("count the lost lines: #{lost}") { lost > 10 }

  FileUtils.rm_rf(Dir.glob("#{disk}/*"))
  FileUtils.mv(swarm.directory, "#{swarm.directory}.away")
  last = feed.read.last
  must("send every event to the client: #{last}") { feed.lost.zero? }
  status = swarm.stop
  must("stop with 0: #{status.inspect} #{File.read("#{swarm.directory}.away/stderr")}") do
    status.exitstatus == 0
  end
  feed.close
end
