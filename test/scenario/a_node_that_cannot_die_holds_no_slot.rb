# frozen_string_literal: true

# A debugger (ptrace) holds nodes: one that is looked at and goes on is left alone; one that it has
# stopped is hung as any other; one that was killed and that the debugger doesn't let go is told of,
# and another takes its slot. Neither mold nor supervisor burn a processor over it, and a stop ends.
# A node whose main thread alone is held is replaced at once, and reaped when the debugger lets go.
require_relative "scenario"

class Scenario
  # Holds all threads of a process, or its first one ("leader"), and never waits for it, until the
  # pipe is closed.
  DEBUGGER = <<~C
    #include <dirent.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/ptrace.h>
    #include <unistd.h>

    int main(int count, char **words)
    {
        char path[64];
        struct dirent *entry;
        DIR *threads;

        snprintf(path, sizeof(path), "/proc/%s/task", words[1]);
        threads = opendir(path);
        while (threads && (entry = readdir(threads))) {
            if (entry->d_name[0] == '.') continue;
            if (count > 2 && !strcmp(words[2], "leader") && strcmp(entry->d_name, words[1])) continue;
            if (ptrace(PTRACE_SEIZE, atoi(entry->d_name), 0, 0) < 0) return 1;
            if (count > 2 && !strcmp(words[2], "stopped")) ptrace(PTRACE_INTERRUPT, atoi(entry->d_name), 0, 0);
        }
        if (write(1, "held\\n", 5) < 0) return 1;
        return read(0, path, 1) < 0;
    }
  C
  private_constant :DEBUGGER

  # The program, or nil where there is no compiler.
  def tracer
    source, program = %w[debugger.c debugger].map { |name| File.join(directory, name) }
    File.write(source, DEBUGGER)
    program if system(*RbConfig::CONFIG["CC"].split, "-o", program, source, err: File::NULL)
  end

  # Holds a process (how: "stopped", "leader") until what it returns is closed; nil where we mayn't.
  def hold(program, pid, *how)
    held = IO.popen([program, pid.to_s, *how], "r+")
    return held if held.gets == "held\n"

    held.close
  end

  def ticks(pid) = File.read("/proc/#{pid}/stat").split[13, 2].sum(&:to_i)
end

Scenario.play do
  program = tracer or missing "a C compiler"
  skip "it takes the C" unless Skep::OS.native?

  swarm = run_swarm(<<~RUBY)
    Skep.swarm "held", nodes: 4, max_restarts: 100, liveness_timeout: 2, kill_timeout: 1,
                       stop_timeout: 1 do |swarm|
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  mold = swarm.await("mold_ready")["pid"]
  pids = swarm.await("node_ready", times: 4).to_h { |event| [event["node"], event["pid"]] }
  looking = hold(program, pids[0]) or missing "the right to trace"
  stopping = hold(program, pids[1], "stopped")
  keeping = hold(program, pids[2])
  swarm.kill(pids[2])

  told = swarm.await("node_unkillable", times: 2).map { |event| event["node"] }
  must("tell of both that can't die: #{told}") { told.sort == [1, 2] }
  swarm.await("node_ready", times: 2)
  before = [mold, swarm.pid].map { |pid| ticks(pid) }
  swarm.follow("a while passes") { swarm.status("held")["uptime"] > 10 }
  after = [mold, swarm.pid].map { |pid| ticks(pid) }
  must("burn no processor: #{before}, #{after}") { after.zip(before).all? { |a, b| a - b < 200 } }
  restarts = swarm.status("held")["nodes"].map { |node| node["restarts"] }
  must("leave alone who is only looked at: #{restarts}") { restarts == [0, 1, 1, 0] }
  [stopping, looking].each(&:close)
  led = swarm.status("held")["nodes"][3]["pid"]
  leading = hold(program, led, "leader")
  swarm.kill(led)
  died = swarm.await(GONE) { |event| event["pid"] == led }
  must("replace it, whose status nobody knows: #{died}") { died["signal"].nil? }
  swarm.await("node_ready") { |event| event["node"] == 3 }
  swarm.follow("it waits to be reaped, as the one that is kept") { zombies_of([mold]).size == 2 }
  leading.close
  swarm.follow("it is reaped") { zombies_of([mold]).size == 1 }

  last = swarm.status("held")["nodes"][3]["pid"]
  holding = hold(program, last)
  must("end although one can't: #{swarm.account}") { swarm.stop(:QUIT).exitstatus == 2 }
  [keeping, holding].each(&:close)
  gone(swarm.nodes)
end
