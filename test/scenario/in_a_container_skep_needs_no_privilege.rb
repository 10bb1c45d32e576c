# frozen_string_literal: true

# The setup of examples/container: skep is pid 1 of a container, not root, without capabilities, on
# a read-only file system. Only /run/skep is writable, by all users. The swarm boots, answers,
# reloads, replaces a node, and exits with 0 after TERM. The scenario itself needs root.
require_relative "scenario"

UNSHARE = %w[unshare --pid --fork --kill-child --mount --mount-proc --ipc].freeze
SHUT = <<~'SH'
  set -e
  mount --make-rprivate /
  mount -t tmpfs tmpfs /run
  mkdir -m 777 /run/skep
  mount -o remount,bind,ro /
  exec setpriv --reuid 10001 --regid 10001 --clear-groups --bounding-set=-all --no-new-privs "$@"
SH

Scenario.play do
  unless Process.uid.zero? && system(*UNSHARE, "true", err: File::NULL)
    missing "root and namespaces of its own"
  end

  swarm = run_swarm(IDLE, skep: public_skep, under: [*UNSHARE, "sh", "-c", SHUT, "sh"],
                          env: { "SKEP_RUN_DIR" => "/run/skep/own" },
                          prepare: ->(place) { File.chmod(0o755, place) })
  swarm.await("node_ready", times: 3)
  init = File.read("/proc/#{swarm.pid}/task/#{swarm.pid}/children").to_i
  status = File.read("/proc/#{init}/status")
  must("be pid 1, without privileges: #{status}") do
    status[/^NSpid:.*\t(\d+)$/, 1] == "1" && status[/^Uid:\t(\d+)/, 1] == "10001" &&
      status[/^CapBnd:\t(\h+)/, 1].hex.zero?
  end

  inside = ["nsenter", "-t", init.to_s, "--pid", "--mount", "--root", "setpriv", "--reuid", "10001",
            "env", "SKEP_RUN_DIR=/run/skep/own", RbConfig.ruby, public_skep]
  skep = lambda do |*words|
    output, status = Open3.capture2e(*inside, *words)
    must("run skep #{words.first}: #{output}; #{swarm.account}") { status.success? }
  end
  skep.call("status", "idle")
  node = Dir.glob("/proc/[0-9]*/cmdline").find do |path|
    File.readlink(path.sub("cmdline", "ns/pid")) == File.readlink("/proc/#{init}/ns/pid") &&
      File.read(path).start_with?("skep idle node 1")
  rescue SystemCallError # it has exited
    false
  end
  swarm.kill(node[/\d+/].to_i)
  swarm.await("node_ready") { |event| event["node"] == 1 }
  skep.call("reload", "idle")
  must("print nothing to stderr: #{swarm.stderr}") { swarm.stderr.empty? }
  swarm.kill(init, :TERM)
  must("end with 0; #{swarm.account}") { swarm.wait.exitstatus == 0 }
end
