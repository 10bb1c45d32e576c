# frozen_string_literal: true

# A container whose image names no volume: a read-only file system, a random user without a name and
# a home, and no place for the control socket. The swarm starts with one warning. Commands of that
# user find it, a second swarm of its name is refused, and another user sees nothing of it. A place
# that was named, and can't be used, is still an error. The scenario itself needs root.
require_relative "scenario"

UNSHARE = %w[unshare --pid --fork --kill-child --mount --mount-proc --ipc].freeze
SHUT = <<~'SH'
  set -e
  mount --make-rprivate /
  mount -t tmpfs -o ro tmpfs /run
  ! mountpoint -q /tmp || mount -o remount,bind,ro /tmp
  mount -o remount,bind,ro /
  exec setpriv --reuid 10001 --regid 10001 --clear-groups --bounding-set=-all --no-new-privs "$@"
SH
# Without Bundler, which needs a working directory.
OUTSIDE = { "SKEP_RUN_DIR" => nil, "XDG_RUNTIME_DIR" => nil, "HOME" => "/", "RUBYOPT" => nil,
            "BUNDLER_SETUP" => nil }.freeze

Scenario.play do
  unless Process.uid.zero? && system(*UNSHARE, "true", err: File::NULL)
    missing "root and namespaces of its own"
  end

  swarm = run_swarm(IDLE, skep: public_skep, under: [*UNSHARE, "sh", "-c", SHUT, "sh"],
                          env: OUTSIDE, prepare: ->(place) { File.chmod(0o755, place) })
  warning = swarm.await("run_directory_unusable")
  must("say what is missing and what to do, not #{warning}") do
    warning["error"].match?(%r{\Athe run directory /tmp/skep-10001 can't be used, }) &&
      warning["hint"].match?(/\ACommands, top and the page find this swarm only .*: \w+/)
  end
  swarm.await("node_ready", times: 3)
  init = File.read("/proc/#{swarm.pid}/task/#{swarm.pid}/children").to_i

  inside = ["nsenter", "-t", init.to_s, "--pid", "--mount", "--root", "setpriv", "--clear-groups"]
  expect = lambda do |code, pattern, *words, uid: 10_001, env: {}|
    output, status = Open3.capture2e({ **OUTSIDE, **env }, *inside, "--reuid", uid.to_s,
                                     RbConfig.ruby, public_skep, *words)
    must("exit with #{code} and print #{pattern.inspect} at #{words.join(" ")}: #{output}") do
      status.exitstatus == code && output.match?(pattern)
    end
  end
  file = File.join(swarm.directory, "swarm.rb")
  expect.call(0, /\Aidle: running/, "status", "idle")
  expect.call(0, /\Aidle: running/, "status")
  expect.call(0, /\Arestarted/, "restart", "idle")
  expect.call(78, /already runs .* \(pid 1\)/, "run", file)
  expect.call(78, %r{run directory /nowhere can't be used}, "run", file,
              env: { "SKEP_RUN_DIR" => "/nowhere" })
  expect.call(78, /control path .* can't be used/, "run", file, "--control", "/nowhere/idle.sock")
  expect.call(1, /no swarm called idle runs/, "status", "idle", uid: 10_002)
  expect.call(0, /\Aidle: running/, "status", "idle", uid: 0)
  must("warn once") do
    swarm.events.one? { |event| event["event"] == "run_directory_unusable" }
  end
  swarm.kill(init, :TERM)
  must("end with 0; #{swarm.account}") { swarm.wait.exitstatus == 0 }
end
