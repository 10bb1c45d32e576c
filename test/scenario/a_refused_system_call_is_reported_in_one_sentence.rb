# frozen_string_literal: true

# A system call that skep needs fails, as under a seccomp filter or on an old kernel. skep prints
# one sentence with its name, and with SKEP_PURE=1 if that helps, and leaves no process running. The
# same holds for too few descriptors, a wrong LISTEN_FDS, a missing /proc, and without the C
# extension for a full /dev/shm.
require_relative "scenario"

OPTIONAL = %w[memfd_create epoll_create1 prctl].freeze
REQUIRED = %w[setpgid socketpair ppoll].freeze
ERRORS = [Errno::EPERM, Errno::ENOSYS].freeze

Scenario.play do
  refuse = "#{directory}/refuse"
  source = File.expand_path("support/refuse.c", __dir__)
  must("have a C compiler") { system("cc", "-O1", "-o", refuse, source) }
  unless system(refuse, "setpgid", "1", "true")
    puts "skipped: no seccomp filter can be set here"
    exit 77
  end

  refused = lambda do |what, sentence, **how|
    swarm = run_swarm(IDLE, **how)
    status = swarm.wait
    must("exit with an error for #{what}: #{status.inspect} #{swarm.stderr}") do
      [1, 71, 75, 78].include?(status.exitstatus)
    end
    must("print one sentence for #{what}: #{swarm.stderr}") do
      swarm.stderr.lines.one? && swarm.stderr.match?(/\Askep: .*#{sentence}/)
    end
    nothing_left(swarm, "after #{what}")
  end
  ERRORS.each do |error|
    OPTIONAL.each do |call|
      under = [refuse, call, error::Errno.to_s]
      # Ruby 3.3 and newer needs epoll itself: it aborts before it loads skep.
      next unless system(*under, RbConfig.ruby, "-e", "Thread.new {}.join", %i[out err] => File::NULL)

      refused.call("#{call} #{error}", "#{call}.*SKEP_PURE=1", under:, env: { "SKEP_PURE" => nil })
      swarm = run_swarm(IDLE, under:, env: { "SKEP_PURE" => "1" })
      swarm.await("node_ready", times: 3)
      must("stop with 0 without #{call}; #{swarm.account}") { swarm.stop.exitstatus == 0 }
    end
    REQUIRED.each do |call|
      [nil, "1"].each do |pure|
        under = [refuse, call, error::Errno.to_s]
        refused.call("#{call} #{error}", call, under:, env: { "SKEP_PURE" => pure })
      end
    end
  end

  refused.call("12 descriptors", "no file descriptor is left", under: %w[prlimit --nofile=12])
  before = "ENV['LISTEN_PID'] = Process.pid.to_s"
  ["999999999", "-1", "3000", "99999999999999999999"].each do |count|
    env = { "LISTEN_FDS" => count }
    refused.call("LISTEN_FDS=#{count}", "LISTEN_FDS says that there are", before:, env:)
  end
  under = [*%w[unshare --mount --fork --kill-child sh -c], 'umount -l /proc; exec "$@"', "sh"]
  next unless Process.uid.zero? && system(*under, "true", err: File::NULL)

  refused.call("no /proc", "there is no /proc here", under:)
  under[-2] = 'mount -t tmpfs -o size=4k tmpfs /dev/shm
               head -c 4096 /dev/zero > /dev/shm/full; exec "$@"'
  refused.call("a full /dev/shm", "no room .* /dev/shm", under:, env: { "SKEP_PURE" => "1" })
end
