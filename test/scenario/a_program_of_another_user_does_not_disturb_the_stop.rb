# frozen_string_literal: true

# A node leaves a setuid program behind, as `sudo … &` does. The supervisor, which isn't root, can't
# end it: the swarm stops as ever, and names the process. Without the C extension the supervisor is
# no subreaper, so it doesn't see the process.
require_relative "scenario"

NOBODY = 65_534
PROGRAM = <<~C
  #include <unistd.h>
  int main(void) { return setuid(0) ? 1 : pause(); }
C

Scenario.play do
  skip "it needs root" unless Process.uid.zero?

  File.write("#{directory}/program.c", PROGRAM)
  program = "#{directory}/program"
  built = system("cc", "-o", program, "#{directory}/program.c")
  built or missing "a C compiler"
  File.chmod(0o4755, program)
  swarm = run_swarm(<<~RUBY, skep: public_skep, before: <<~BEFORE)
    Skep.swarm "left", nodes: 1 do |swarm|
      swarm.work do |node|
        pid = Process.spawn("#{program}", pgroup: true, out: File::NULL, err: File::NULL)
        node.event(:spawned, its: pid)
        node.ready!
        node.wait until node.stopping?
      end
    end
  RUBY
    File.chown(#{NOBODY}, nil, ENV['SKEP_RUN_DIR']); Process::UID.change_privilege(#{NOBODY})
  BEFORE
  left = swarm.await("spawned")["its"]
  swarm.await("node_ready")
  swarm.follow("the program has become root") do
    File.read("/proc/#{left}/status")[/^Uid:\s+(\d+)/, 1] == "0"
  end
  status = swarm.stop
  must("stop with 0, not #{status}; #{swarm.account}") { status.exitstatus == 0 }
  if Skep::OS.native?
    named = swarm.await("orphan_left")
    must("name the process: #{named}") { named["pid"] == left && named["level"] == "warn" }
  end
  swarm.await("swarm_stopped")
  must("say nothing else: #{swarm.stderr}") { swarm.stderr.empty? }
ensure
  swarm&.kill(left) if left
end
