# frozen_string_literal: true

# Under a real systemd, by the unit of examples/systemd: "started" means that nodes are ready, a
# reload is one for systemd too, a supervisor that is stuck is killed and starts again, nothing is
# left of what was, and the journal has fields. Takes root and systemd; elsewhere there is nothing
# to show.
require_relative "scenario"
require_relative "support/own_systemd"

UNIT = File.expand_path("../../examples/systemd/skep@.service", __dir__)

# Where things are here, and less time.
HERE = <<~INI
  [Service]
  WorkingDirectory=#{OwnSystemd::OURS}
  ExecStart=
  ExecStart=#{RbConfig.ruby} #{OwnSystemd::CODE}/exe/skep run swarm.rb
  ExecReload=
  ExecReload=#{RbConfig.ruby} #{OwnSystemd::CODE}/exe/skep reload %i
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

  systemd = OwnSystemd.new(directory, code: File.expand_path("../..", public_skep))
  at_end { systemd.stop }
  file = File.join(directory, "swarm.rb")
  File.write(file, SWARM)
  systemd.unit("skep@.service", File.read(UNIT))
  systemd.unit("skep@.service.d/here.conf", HERE)
  systemd.unit("skep@.socket", SOCKET)
  systemd.start
  billing = "skep@billing.service"
  told = -> { systemd.journal("-u", billing).last(20).map { |entry| entry["MESSAGE"] } }
  shows = ->(property) { systemd.show(billing, property) }
  does = lambda do |*words|
    said, done = systemd.ctl(*words, billing)
    done or raise Scenario::Failed, "#{words.join(" ")}: #{said} #{told.call}"
  end
  named = lambda do |role|
    systemd.processes(billing).select do |pid|
      command_line(pid).start_with?("skep billing #{role}")
    end
  end
  ready = -> { named.call("node").size == 2 && shows.call("StatusText") == "2 nodes ready" }
  send = ->(signal, pid) { Skep.pidfd(pid).then { |fd| fd.signal(signal).tap { fd.close } } }

  faults, sound = Open3.capture2e("systemd-analyze", "verify", UNIT)
  must("be a unit without fault: #{faults}") { sound.success? && faults.empty? }
  exposed, sealed = Open3.capture2e("systemd-analyze", "security", "--offline=true",
                                    "--threshold=20", UNIT)
  must("be shut off from the host: #{exposed}") { sealed.success? }

  systemd.ctl("start", "skep@billing.socket")
  does.call("start")
  must("be active with ready nodes: #{told.call}", &ready)
  hidden = systemd.journal("SKEP_EVENT=hidden").map { |entry| entry["SKEP_WORDS"] }
  must("speak for itself, not by its nodes: #{hidden}") { hidden == %w[[] []] }

  ask = -> { UNIXSocket.open(File.join(directory, "web.sock")) { |socket| socket.gets.to_i } }
  must("hand its socket to the nodes") { ask.call.positive? }
  send.call(:KILL, named.call("node").first)
  systemd.follow("its end in the journal") { systemd.journal("SKEP_EVENT=node_died").any? }
  death = systemd.journal("SKEP_EVENT=node_died").first
  facts = %w[SKEP_SWARM SKEP_SIGNAL PRIORITY SYSLOG_IDENTIFIER _SYSTEMD_UNIT]
  must("tell of a death by fields: #{death}") do
    death.values_at(*facts) == ["billing", "KILL", "4", "skep", billing]
  end
  systemd.follow("another node", &ready)

  before = named.call("node")
  does.call("reload")
  must("have new nodes after a reload") { (named.call("node") & before).empty? }
  must("hand it to a new mold's as well") { ask.call.positive? }
  File.write(file, "raise 'broken'")
  must("fail a reload of a broken file") { !systemd.ctl("reload", billing).last }
  must("work on: #{shows.call("StatusText")}") do
    shows.call("ActiveState") == "active" &&
      shows.call("StatusText").start_with?("2 nodes ready; the last reload failed: ")
  end
  File.write(file, SWARM)

  all = systemd.processes(billing)
  supervisor = shows.call("MainPID")
  must("not have been restarted yet") { shows.call("NRestarts") == "0" }
  send.call(:STOP, named.call("supervisor").first)
  systemd.follow("a new supervisor") do
    shows.call("NRestarts") == "1" && shows.call("ActiveState") == "active"
  end
  must("be another process") { shows.call("MainPID") != supervisor }
  must("leave nothing of what was") { (systemd.processes(billing) & all).empty? }
  must("be ready again: #{told.call}", &ready)

  does.call("stop")
  must("end well: #{told.call}") { shows.call("Result") == "success" }
  must("leave nothing") { systemd.processes(billing).empty? }

  File.write(file, SWARM.sub("nodes: 2", "nodse: 2"))
  must("not start with a broken file") { !systemd.ctl("start", billing).last }
  errors = -> { systemd.journal("-u", billing, "-p", "err").map { |entry| entry["MESSAGE"] } }
  systemd.follow("why, as an error") {
 errors.call.grep(/\Askep: swarm.rb: unknown option: nodse/).any? }
  must("not try again: #{told.call}") do
    shows.call("ActiveState") == "failed" && shows.call("NRestarts") == "0"
  end

  away = SWARM.sub("  swarm.work", <<~BOOT.gsub(/^/, "  ") + "  swarm.work")
    away = Class.new(Skep::BootError) { def exit_code = 75 }
    swarm.on_boot { raise away, "no broker" }
  BOOT
  { "a dependency that is away" => away, "an application that raises" => "raise 'broken'" }
    .each do |what, source|
    File.write(file, source)
    systemd.ctl("start", "--no-block", billing)
    systemd.follow("a second start after #{what}") { shows.call("NRestarts").to_i > 1 }
    File.write(file, SWARM)
    systemd.follow("an active unit", &ready)
    does.call("stop")
  end
end
