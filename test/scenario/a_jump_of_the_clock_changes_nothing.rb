# frozen_string_literal: true

# The wall clock jumps by a day, forwards or back, each time that a process of the swarm reads it.
# No healthy node is considered hung, no restart is delayed, a hang is found in time, and the swarm
# stops. Every decision uses the monotonic clock.
require_relative "scenario"

class Scenario
  SHIM = <<~C
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <sys/time.h>
    #include <time.h>

    static long jump(void)
    {
        static int looks;
        return __sync_add_and_fetch(&looks, 1) % 2 ? 86400 : -86400;
    }

    int clock_gettime(clockid_t clock, struct timespec *at)
    {
        int (*real)(clockid_t, struct timespec *) =
            (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
        int result = real(clock, at);
        if (result == 0 && clock == CLOCK_REALTIME) at->tv_sec += jump();
        return result;
    }

    int gettimeofday(struct timeval *at, void *zone)
    {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        at->tv_sec = now.tv_sec;
        at->tv_usec = now.tv_nsec / 1000;
        return 0;
    }

    time_t time(time_t *at)
    {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        if (at) *at = now.tv_sec;
        return now.tv_sec;
    }
  C
  private_constant :SHIM

  # Returns a library that makes the wall clock jump; nil without a compiler.
  def jumping_clock
    source, library = %w[clock.c clock.so].map { |name| File.join(directory, name) }
    File.write(source, SHIM)
    compiler = RbConfig::CONFIG["CC"].split
    library if system(*compiler, "-shared", "-fPIC", "-o", library, source, "-ldl", err: File::NULL)
  end
end

Scenario.play do
  clock = jumping_clock or missing "a C compiler"
  swarm = run_swarm(<<~RUBY, env: { "LD_PRELOAD" => clock })
    Skep.swarm "idle", nodes: 3, max_restarts: 100, liveness_timeout: 1, kill_timeout: 1 do |swarm|
      swarm.work do |node|
        node.ready!
        until node.stopping?
          Time.now
          node.wait(0.05)
        end
      end
    end
  RUBY
  pids = swarm.await("node_ready", times: 3).to_h { |event| [event["node"], event["pid"]] }
  10.times do
    swarm.kill(pids[0])
    pids[0] = swarm.await("node_ready")["pid"]
  end
  times = swarm.events.map { |event| event["time"][0, 10] }.uniq
  must("log the jumping wall clock: #{times}") { times.size > 1 }
  swarm.kill(pids[1], :STOP)
  hung = swarm.await("node_hung")
  must("find the hung node, and no other: #{hung}") { hung["node"] == 1 }
  swarm.await("node_ready")
  swarm.follow("two more timeouts pass") { swarm.status("idle")["uptime"] > 5 }
  restarts = swarm.status("idle")["nodes"].map { |node| node["restarts"] }
  must("leave the others alone: #{restarts}") { restarts == [10, 1, 0] }
  waited = swarm.events.select { |event| event["event"] == "node_waiting" }
  must("delay no restart: #{waited}") { waited.empty? }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
