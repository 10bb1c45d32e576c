# frozen_string_literal: true

# A debugger (ptrace) holds nodes. A traced node that runs is left alone. A node that the debugger
# has stopped is hung. A killed node that the debugger doesn't release is logged, and its slot gets
# another process. Mold and supervisor use little CPU time, and a stop ends. A node of which
# only the main thread is held is replaced at once, and reaped when the debugger releases it.
require_relative "scenario"

class Scenario
  # Traces all threads of a process, or its first one ("leader"), until the pipe is closed. It never
  # waits for the process.
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

  # Returns the compiled program; nil without a compiler.
  def tracer
    source, program = %w[debugger.c debugger].map { |name| File.join(directory, name) }
    File.write(source, DEBUGGER)
    program if system(*RbConfig::CONFIG["CC"].split, "-o", program, source, err: File::NULL)
  end

  # Holds a process (how: "stopped", "leader") until the returned pipe is closed; nil if denied.
  def hold(program, pid, *how)
    held = IO.popen([program, pid.to_s, *how], "r+")
    return held if held.gets == "held\n"

    held.close
  end

  def ticks(pid) = File.read("/proc/#{pid}/stat").split[13, 2].sum(&:to_i)
end

Scenario.play do
  program = tracer or missing "a C compiler"

  swarm = run_swarm(<<~RUBY)
    Skep.swarm "held", nodes: 4, max_restarts: 100, liveness_timeout: 2, kill_timeout: 1,
                       stop_timeout: 1 do |swarm|
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  mold = swarm.await("mold_ready")["pid"]
  pids = swarm.await("node_ready", times: 4).to_h { |event| [event["node"], event["pid"]] }
  tracing = hold(program, pids[0]) or missing "the right to trace"
  stopping = hold(program, pids[1], "stopped")
  keeping = hold(program, pids[2])
  swarm.kill(pids[2])

  ends = Skep::OS.native? ? "node_unkillable" : "node_died"
  unkillable = swarm.await(ends, times: 2).map { |event| event["node"] }
  must("publish #{ends} for both: #{unkillable}") { unkillable.sort == [1, 2] }
  swarm.await("node_ready", times: 2)
  before = [mold, swarm.pid].map { |pid| ticks(pid) }
  swarm.follow("a while passes") { swarm.status("held")["uptime"] > 10 }
  after = [mold, swarm.pid].map { |pid| ticks(pid) }
  must("use little CPU time: #{before}, #{after}") { after.zip(before).all? { |a, b| a - b < 200 } }
  restarts = swarm.status("held")["nodes"].map { |node| node["restarts"] }
  must("leave the traced node alone: #{restarts}") { restarts == [0, 1, 1, 0] }
  [stopping, tracing].each(&:close)
  victim = swarm.status("held")["nodes"][3]["pid"]
  leading = hold(program, victim, "leader")
  swarm.kill(victim)
  died = swarm.await(GONE) { |event| event["pid"] == victim }
  must("replace it, with the signal that the kernel shows: #{died}") { died["signal"] == "KILL" }
  swarm.await("node_ready") { |event| event["node"] == 3 }
  swarm.follow("it is a zombie, like the held node") { zombies_of([mold]).size == 2 }
  leading.close
  swarm.follow("the released node is reaped") { zombies_of([mold]).size == 1 }

  last = swarm.status("held")["nodes"][3]["pid"]
  holding = hold(program, last)
  must("end with an unkillable node: #{swarm.account}") { swarm.stop(:QUIT).exitstatus == 2 }
  [keeping, holding].each(&:close)
  await_exit(swarm.nodes)
end
