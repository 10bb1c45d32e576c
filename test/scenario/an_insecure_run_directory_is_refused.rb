# frozen_string_literal: true

# Another user owns the run directory, can write to it, or has put links into it. The swarm is
# refused with one sentence, and no file is changed. No command connects to a socket in that
# directory.
require_relative "scenario"

OTHER_USER = 61_002

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
    must("start no node for #{what}") { swarm.nodes.empty? }
    must("change no file for #{what}") { File.read(precious) == "the only copy" }
    must("create no file for #{what}: #{Dir.children(swarm.directory)}") do
      (Dir.children(swarm.directory) - %w[swarm.rb stderr idle.sock.lock]).empty?
    end
    swarm
  end

  writable = refused.call("a world-writable directory", "everybody can write to it") do |place|
    File.chmod(0o777, place)
  end
  refused.call("a group-writable directory", "its group can write to it") do |place|
    File.chmod(0o770, place)
  end
  refused.call("a lock that is a link", "idle.sock.lock is a symbolic link") do |place|
    File.symlink(precious, "#{place}/idle.sock.lock")
  end
  refused.call("a lock that is another file", "idle.sock.lock wasn't made by skep") do |place|
    File.link(precious, "#{place}/idle.sock.lock")
  end
  # No command connects to a server in that directory.
  UNIXServer.open("#{writable.directory}/idle.sock") do |server|
    [%w[status], %w[stop idle], %w[top --once], %w[chaos idle]].each do |words|
      output = writable.skep(*words)
      must("refuse to connect for #{words.join(" ")}: #{output}") do
        output.to_s.match?(/\Askep: .*everybody can write to it/) && output.lines.one?
      end
      must("not connect") { server.accept_nonblock(exception: false) == :wait_readable }
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
  must("leave the link's target alone") { Dir.empty?(real) }
  swarm = run_swarm(IDLE, env: { "SKEP_RUN_DIR" => "" })
  must("refuse an empty SKEP_RUN_DIR: #{swarm.stderr}") do
    !swarm.wait.success? && swarm.stderr.match?(/\Askep: SKEP_RUN_DIR is empty.*\n\z/)
  end

  if Process.uid.zero?
    refused.call("another user's directory", "it belongs to user #{OTHER_USER}") do |place|
      File.chown(OTHER_USER, nil, place)
    end
  end

  own = "#{directory}/own/run"
  swarm = run_swarm(IDLE, env: { "SKEP_RUN_DIR" => own })
  swarm.await("node_ready", times: 3)
  must("create a directory for its user alone") { File.stat(own).mode & 0o777 == 0o700 }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
