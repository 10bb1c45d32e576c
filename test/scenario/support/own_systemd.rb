# frozen_string_literal: true

require_relative "../../support/patience"
require "fileutils"
require "rbconfig"
require "socket"

# A systemd for one scenario: pid 1 of its own namespaces, with journald and the given units only.
# It sees this machine's files read-only. Needs root, Debian's package systemd and a cgroup2
# hierarchy.
#
#   systemd = OwnSystemd.new(directory, code:)   # it can write to this directory only, as
#                             # /run/ours. code: the folder with skep's exe and lib, for any user
#   systemd.unit("billing.service", "[Service]\n…")
#   systemd.start
#   systemd.ctl("start", "billing.service")    # => [its output, true if it succeeded]
#   systemd.show("billing.service", "StatusText")   # => "2 nodes ready"
#   systemd.processes("billing.service")       # => pids of this machine
#   systemd.journal("SKEP_EVENT=node_died")    # => entries
#   systemd.follow("its end") { … }            # waits until it is true
#   systemd.stop
class OwnSystemd
  OURS = "/run/ours"
  CODE = "/run/code" # a copy of the checkout
  JOURNALD = %w[systemd-journald.service systemd-journald.socket].freeze
  TARGETS = %w[default sysinit basic shutdown network-online multi-user].freeze
  UNSHARE = %w[unshare --pid --fork --kill-child --mount --mount-proc --cgroup --ipc --uts].freeze
  SECONDS = Patience.of(30.0)

  # /dev has only these devices.
  MOUNTS = <<~'SH'
    set -e
    mount --make-rprivate /
    mount -t tmpfs tmpfs /run
    mkdir /run/ours /run/code /run/dev
    mount --bind "$1" /run/ours
    mount --bind "$2" /run/code
    mount -t tmpfs tmpfs /run/dev
    for one in null:3 zero:5 full:7 random:8 urandom:9 console:3 kmsg:3; do
      mknod -m 666 "/run/dev/${one%:*}" c 1 "${one#*:}"
    done
    mkdir -m 1777 /run/dev/shm
    mknod -m 666 /run/dev/tty c 5 0
    ln -s pts/ptmx /run/dev/ptmx
    ln -s /proc/self/fd /run/dev/fd
    mount --rbind /run/dev /dev
    for one in /tmp /var/tmp /var/lib /var/log; do mount -t tmpfs -o mode=1777 tmpfs $one; done
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    mount -o remount,bind,ro /
    exec env -i PATH="$PATH" container=skep SYSTEMD_UNIT_PATH=/run/ours/units \
      NOTIFY_SOCKET=/run/ours/booted SYSTEMD_PROC_CMDLINE= \
      /lib/systemd/systemd --system --log-target=journal --show-status=no
  SH

  def self.possible?
    Process.uid.zero? && cgroup2 && File.executable?("/lib/systemd/systemd") &&
      system(*UNSHARE, "true", err: File::NULL)
  end

  def self.cgroup2
    mounts = File.foreach("/proc/self/mounts").map(&:split)
    places = mounts.filter_map { |_, place, kind| place if kind == "cgroup2" }
    places.find { |place| File.writable?("#{place}/cgroup.procs") }
  end

  def initialize(directory, code:)
    @directory, @code = directory, code
    FileUtils.mkdir_p("#{directory}/units")
    File.chmod(0o755, directory)
    TARGETS.each { |name| unit("#{name}.target", "[Unit]\nDefaultDependencies=no\n") }
    first = JOURNALD.join(" ")
    unit("default.target.d/journal.conf", "[Unit]\nRequires=#{first}\nAfter=#{first}\n")
    JOURNALD.each { |name| FileUtils.cp("/lib/systemd/system/#{name}", "#{directory}/units") }
  end

  def unit(name, text)
    FileUtils.mkdir_p(File.dirname(path = "#{@directory}/units/#{name}"))
    File.write(path, text)
  end

  def start
    booted = Socket.new(:UNIX, :DGRAM)
    booted.bind(Addrinfo.unix("#{@directory}/booted", :DGRAM))
    @cgroup = File.join(OwnSystemd.cgroup2, "skep-scenario-#{Process.pid}")
    Dir.mkdir(@cgroup)
    enter = "echo $$ > #{@cgroup}/cgroup.procs; exec \"$@\""
    @outer = Skep.pidfd(Process.spawn("sh", "-c", enter, "sh", *UNSHARE, "sh", "-c", MOUNTS, "sh",
                                      @directory, @code,
                                      err: errors = "#{@directory}/errors"))
    return if received?(booted, "READY=1")

    raise Scenario::Failed, "systemd didn't boot: #{File.read(errors)}"
  ensure
    booted&.close
  end

  def ctl(*arguments)
    output, status = Open3.capture2e(*inside, "systemctl", "--no-ask-password", *arguments)
    [output, status.success?]
  end

  def show(unit, property) = ctl("show", "--value", "-p", property, unit).first.chomp

  def processes(unit)
    folder = Dir.glob("#{@cgroup}/system.slice/**/#{unit}").first
    folder ? File.read("#{folder}/cgroup.procs").split.map(&:to_i) : []
  rescue SystemCallError # it has ended
    []
  end

  def journal(*matches)
    output, = Open3.capture2(*inside, "journalctl", "--quiet", "-o", "json", *matches)
    output.each_line.map { |line| JSON.parse(line) }
  end

  # Follows the journal until the block returns true; calls it after each entry and every 0.2 s.
  def follow(what)
    news = IO.popen([*inside, "journalctl", "--quiet", "--follow", "--lines=0", "-o", "cat"])
    deadline = Skep::OS.now + SECONDS
    until yield
      raise Scenario::Failed, "not within #{SECONDS} s: #{what}" if Skep::OS.now > deadline

      news.wait_readable(0.2) && news.readpartial(65_536)
    end
  ensure
    Process.kill(:KILL, news.pid)
    news.close
  end

  def stop
    return unless @outer

    end_all
    @outer.close
    Dir.glob("#{@cgroup}/**/").sort.reverse_each { |folder| Dir.rmdir(folder) }
  end

  private

  # unshare(1) ends after pid 1 of its namespace, which ends after all others.
  def end_all
    Skep.pidfd(init.to_i).then { |pidfd| pidfd.signal(:KILL).tap { pidfd.close } }
    @outer.wait(timeout: SECONDS)
  end

  def init = File.read("/proc/#{@outer.pid}/task/#{@outer.pid}/children").split.first

  def inside = ["nsenter", "-t", init, "--pid", "--mount", "--cgroup", "--root"]

  def received?(socket, word)
    deadline = Skep::OS.now + SECONDS
    while socket.wait_readable([deadline - Skep::OS.now, 0].max)
      return true if socket.recv(4096).split("\n").include?(word)
    end
  end
end
