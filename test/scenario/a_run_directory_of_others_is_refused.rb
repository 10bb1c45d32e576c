# frozen_string_literal: true

# Another user has made the run directory, or can write to it, or has put links into it: the swarm
# is refused by one sentence, no file is touched, and no command asks whoever answers there.
require_relative "scenario"

STRANGER = 61_002

Scenario.play do
  precious = "#{directory}/precious"
  File.write(precious, "the only copy")
  refused = lambda do |what, sentence, &make|
    swarm = run_swarm(IDLE, prepare: make)
    status = swarm.wait
    must("refuse #{what}: #{status.inspect}, #{swarm.stderr}") do
      [1, 78].include?(status.exitstatus) && swarm.stderr.lines.one? &&
        swarm.stderr.match?(/\Askep: .*#{sentence}/)
    end
    must("start nothing for #{what}") { swarm.nodes.empty? }
    must("touch nothing for #{what}") { File.read(precious) == "the only copy" }
    must("make nothing for #{what}: #{Dir.children(swarm.directory)}") do
      (Dir.children(swarm.directory) - %w[swarm.rb stderr idle.sock.lock]).empty?
    end
    swarm
  end

  open = refused.call("a directory that all can write to", "everybody can write to it") do |place|
    File.chmod(0o777, place)
  end
  refused.call("one that its group can write to", "its group can write to it") do |place|
    File.chmod(0o770, place)
  end
  refused.call("a lock that is a link", "idle.sock.lock is a symbolic link") do |place|
    File.symlink(precious, "#{place}/idle.sock.lock")
  end
  refused.call("a lock that is another file", "idle.sock.lock was made by somebody else") do |place|
    File.link(precious, "#{place}/idle.sock.lock")
  end
  # A hostile server in that directory isn't asked.
  UNIXServer.open("#{open.directory}/idle.sock") do |server|
    [%w[status], %w[stop idle], %w[top --once], %w[chaos idle]].each do |words|
      said = open.skep(*words)
      must("ask nobody by #{words.join(" ")}: #{said}") do
        said.to_s.match?(/\Askep: .*everybody can write to it/) && said.lines.one?
      end
      must("connect to nobody") { server.accept_nonblock(exception: false) == :wait_readable }
    end
  end

  link = "#{directory}/link"
  real = "#{directory}/real"
  Dir.mkdir(real)
  File.symlink(real, link)
  swarm = run_swarm(IDLE, env: { "SKEP_RUN_DIR" => link })
  must("refuse a link: #{swarm.stderr}") do
    !swarm.wait.success? && swarm.stderr.include?("it is a symbolic link")
  end
  must("leave where it leads alone") { Dir.empty?(real) }
  swarm = run_swarm(IDLE, env: { "SKEP_RUN_DIR" => "" })
  must("refuse an empty SKEP_RUN_DIR: #{swarm.stderr}") do
    !swarm.wait.success? && swarm.stderr.match?(/\Askep: SKEP_RUN_DIR is empty.*\n\z/)
  end

  if Process.uid.zero?
    refused.call("a stranger's directory", "it belongs to user #{STRANGER}") do |place|
      File.chown(STRANGER, nil, place)
    end
  end

  own = "#{directory}/own/run"
  swarm = run_swarm(IDLE, env: { "SKEP_RUN_DIR" => own })
  swarm.await("node_ready", times: 3)
  must("make its own for its user alone") { File.stat(own).mode & 0o777 == 0o700 }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
