# frozen_string_literal: true

# Under a real systemd, with the unit of examples/systemd: the unit is started when its nodes are
# ready, `systemctl reload` reloads the swarm, and a stuck supervisor is killed and restarted
# without leftover processes. The journal has fields. Needs root and systemd.
require_relative "scenario"
require_relative "support/own_systemd"

UNIT = File.expand_path("../../examples/systemd/skep@.service", __dir__)

# The paths of this machine, and shorter timeouts.
HERE = <<~INI
  [Service]
  WorkingDirectory=#{OwnSystemd::OURS}
  ExecStart=
  ExecStart=#{RbConfig.ruby} #{OwnSystemd::CODE}/skep/exe/skep run swarm.rb
  ExecReload=
  ExecReload=#{RbConfig.ruby} #{OwnSystemd::CODE}/skep/exe/skep reload %i
  User=nobody
  Group=nogroup
  ProtectHome=read-only
  WatchdogSec=3
  RestartSec=0
INI

SOCKET = <<~INI
  [Socket]
  ListenStream=#{OwnSystemd::OURS}/web.sock
INI

SWARM = <<~'RUBY'
  require "socket"

  Skep.swarm "billing", nodes: 2, stop_timeout: 5 do |swarm|
    swarm.work do |node|
      node.event(:hidden, words: ENV.keys.grep(/NOTIFY|WATCHDOG/))
      server = UNIXServer.for_fd(3) # of the socket unit
      Thread.new { loop { server.accept.then { |one| one.puts(Process.pid) && one.close } } }
      node.ready!
      node.wait until node.stopping?
    end
  end
RUBY

Scenario.play do
  OwnSystemd.possible? or missing "root and systemd"

  systemd = OwnSystemd.new(directory, code: File.expand_path("../../..", public_skep))
  at_end { systemd.stop }
  file = File.join(directory, "swarm.rb")
  File.write(file, SWARM)
  systemd.unit("skep@.service", File.read(UNIT))
  systemd.unit("skep@.service.d/here.conf", HERE)
  systemd.unit("skep@.socket", SOCKET)
  systemd.start
  billing = "skep@billing.service"
  log = -> { systemd.journal("-u", billing).last(20).map { |entry| entry["MESSAGE"] } }
  shows = ->(property) { systemd.show(billing, property) }
  does = lambda do |*words|
    output, done = systemd.ctl(*words, billing)
    done or raise Scenario::Failed, "#{words.join(" ")}: #{output} #{log.call}"
  end
  named = lambda do |role|
    systemd.processes(billing).select do |pid|
      command_line(pid).start_with?("skep billing #{role}")
    end
  end
  ready = -> { named.call("node").size == 2 && shows.call("StatusText") == "2 nodes ready" }
  send = ->(signal, pid) { Skep.pidfd(pid).then { |fd| fd.signal(signal).tap { fd.close } } }

  faults, valid = Open3.capture2e("systemd-analyze", "verify", UNIT)
  must("pass systemd-analyze verify: #{faults}") { valid.success? && faults.empty? }
  exposed, sealed = Open3.capture2e("systemd-analyze", "security", "--offline=true",
                                    "--threshold=20", UNIT)
  must("have an exposure of at most 2.0: #{exposed}") { sealed.success? }

  systemd.ctl("start", "skep@billing.socket")
  does.call("start")
  must("have ready nodes once it is started: #{log.call}", &ready)
  hidden = -> { systemd.journal("SKEP_EVENT=hidden").map { |entry| entry["SKEP_WORDS"] } }
  systemd.follow("what the nodes' environments have") { hidden.call.size == 2 }
  must("hide the notify socket from nodes: #{hidden.call}") { hidden.call == %w[[] []] }

  ask = -> { UNIXSocket.open(File.join(directory, "web.sock")) { |socket| socket.gets.to_i } }
  must("pass the unit's socket to the nodes") { ask.call.positive? }
  send.call(:KILL, named.call("node").first)
  systemd.follow("node_died in the journal") { systemd.journal("SKEP_EVENT=node_died").any? }
  death = systemd.journal("SKEP_EVENT=node_died").first
  facts = %w[SKEP_SWARM SKEP_SIGNAL PRIORITY SYSLOG_IDENTIFIER _SYSTEMD_UNIT]
  must("log a death with fields: #{death}") do
    death.values_at(*facts) == ["billing", "KILL", "4", "skep", billing]
  end
  systemd.follow("a replacement", &ready)

  before = named.call("node")
  does.call("reload")
  must("have new nodes after a reload") { (named.call("node") & before).empty? }
  must("pass the socket to a new mold's nodes") { ask.call.positive? }
  File.write(file, "raise 'broken'")
  must("fail a reload of a broken file") { !systemd.ctl("reload", billing).last }
  must("keep the old nodes: #{shows.call("StatusText")}") do
    shows.call("ActiveState") == "active" &&
      shows.call("StatusText").start_with?("2 nodes ready; the last reload failed: ")
  end
  File.write(file, SWARM)

  all = systemd.processes(billing)
  supervisor = shows.call("MainPID")
  must("not restart the unit so far") { shows.call("NRestarts") == "0" }
  send.call(:STOP, named.call("supervisor").first)
  systemd.follow("a new supervisor") do
    shows.call("NRestarts") == "1" && shows.call("ActiveState") == "active"
  end
  must("have another main pid") { shows.call("MainPID") != supervisor }
  must("leave no old process") { (systemd.processes(billing) & all).empty? }
  must("have ready nodes again: #{log.call}", &ready)

  does.call("stop")
  must("stop with success: #{log.call}") { shows.call("Result") == "success" }
  must("leave no process") { systemd.processes(billing).empty? }

  File.write(file, SWARM.sub("nodes: 2", "nodse: 2"))
  must("not start with a broken file") { !systemd.ctl("start", billing).last }
  errors = -> { systemd.journal("-u", billing, "-p", "err").map { |entry| entry["MESSAGE"] } }
  systemd.follow("the cause, as an error") do
    errors.call.grep(/\Askep: swarm.rb: unknown option: nodse/).any?
  end
  must("not restart it: #{log.call}") do
    shows.call("ActiveState") == "failed" && shows.call("NRestarts") == "0"
  end

  unavailable = SWARM.sub("  swarm.work", <<~BOOT.gsub(/^/, "  ") + "  swarm.work")
    unavailable = Class.new(Skep::BootError) { def exit_code = 75 }
    swarm.on_boot { raise unavailable, "no broker" }
  BOOT
  { "a missing dependency" => unavailable, "an application that raises" => "raise 'broken'" }
    .each do |what, source|
    File.write(file, source)
    systemd.ctl("start", "--no-block", billing)
    systemd.follow("a second start after #{what}") { shows.call("NRestarts").to_i > 1 }
    File.write(file, SWARM)
    systemd.follow("an active unit", &ready)
    does.call("stop")
  end
end
