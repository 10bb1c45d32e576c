# frozen_string_literal: true

# HUP, or `skep reload`: a new mold loads the current file beside the old one. It first starts one
# canary node; if that boots, the other nodes are replaced. If the new code fails, the old nodes
# continue, and the supervisor reports why. The revision that the deploy has written is read again,
# and is in the events, in the status and in the nodes.
require_relative "scenario"

CODE = <<~RUBY
  Skep.swarm "code", nodes: 3, boot_timeout: %<boot>s, max_restarts: 1000 do |swarm|
    swarm.on_boot { |node| %<boot_code>s }
    swarm.on(:node_ready) { |facts| nil }
    swarm.work do |node|
      node.event(:runs, version: %<version>s, revision: node.revision)
      %<work>s
      node.ready!
      node.wait until node.stopping?
    end
  end
RUBY

def write(swarm, version, boot_code: "nil", work: "nil", boot: 10, before: "")
  text = before + format(CODE, version:, boot_code:, work:, boot:)
  File.write(File.join(swarm.directory, "swarm.rb"), text)
end

def pids(swarm) = swarm.status("code")["nodes"].map { |node| node["pid"] }
def ready?(swarm) = swarm.status("code")["nodes"].all? { |node| node["state"] == "ready" }

def fails(swarm, why, **code)
  before = pids(swarm)
  write(swarm, 0, **code)
  swarm.signal(:HUP)
  failed = swarm.await("reload_failed")
  must("report #{why}: #{failed["error"]}") { failed["error"].match?(why) }
  must("keep the old nodes") { pids(swarm) == before && ready?(swarm) }
end

Scenario.play do
  swarm = run_swarm(format(CODE, version: 1, boot_code: "nil", work: "nil", boot: 10))
  swarm.await("node_ready", times: 4) # the helper is one
  swarm.await("mold_ready")

  write(swarm, 2)
  File.write(File.join(swarm.directory, "REVISION"), "r2\n")
  swarm.signal(:HUP)
  finished = swarm.await("reload_finished")
  must("read the revision again") do
    [finished, swarm.status("code")].all? { |facts| facts["revision"] == "r2" }
  end
  must("run the new code on all nodes") do
    swarm.await("runs", times: 3) { |event| event.values_at("version", "revision") == [2, "r2"] }
    ready?(swarm) && swarm.status("code")["nodes"].map { |node| node["mold"] }.uniq == [1]
  end

  two_works = "#{format(CODE, version: 9, boot_code: "nil", work: "nil", boot: 9)[0..-5]}" \
              "  swarm.work {}\nend\n__END__\n"
  unknown = "Skep.swarm(\"code\", grp: 1) { |swarm| swarm.work {} }\n__END__\n"
  fails(swarm, /unknown option: grp/, before: unknown)
  fails(swarm, /syntax error.*: correct it, and reload again\z/i, before: "Skep.swarm(\n)) (\n")
  fails(swarm, /gone wrong/, before: "raise 'gone wrong'\n")
  must("warn of no mold that left after a failed reload") do
    swarm.events.none? { |event| event["event"] == "mold_died" && event["level"] == "warn" }
  end
  fails(swarm, /could not begin: RuntimeError: no database/, boot_code: "raise 'no database'")
  fails(swarm, /could not begin: the new process ended, exit status 3$/, boot_code: "exit!(3)")
  fails(swarm, /could not begin: RuntimeError: no work/, work: "raise 'no work'")
  fails(swarm, /the new mold ended, exit status 9/, before: "exit!(9)\n")
  fails(swarm, /2 works now, not 1/, before: two_works)

  write(swarm, 3)
  must("reload by a command") { swarm.skep("reload", "code").nil? }
  must("run the newest code") do
    swarm.await("runs", times: 3) { |event| event["version"] == 3 } && ready?(swarm)
  end

  swarm.kill(pids(swarm).first)
  must("boot a replacement from the new code") do
    swarm.await("runs") { |event| event["version"] == 3 }
  end
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
