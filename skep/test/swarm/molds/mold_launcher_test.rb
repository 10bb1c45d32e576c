# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/swarm"

# Starts real mold processes, and reads their first message.
class MoldLauncherTest < Skep::TestCase
  MoldLauncher = Skep::Swarm::Molds::MoldLauncher
  SOURCE = "Skep.swarm(ARGV.join) { |swarm| swarm.work { |node| node.wait } }"
  FORK = <<~RUBY
    require "skep"
    swarm = Skep.swarm("here") { |swarm| swarm.work { } }
    $stdout.sync = true
    launcher = Skep::Swarm::Molds::MoldLauncher::Fork.new(swarm)
    pid, channel = launcher.start(0, close_in_child: -> { puts "closed in \#{Process.pid}" })
    message = channel.take(timeout: 20)
    puts [launcher.file, launcher.program?, message.type, message["name"],
          Process.getpgid(pid) == pid].inspect, pid
    channel.close
    Process.wait(pid)
  RUBY
  private_constant :MoldLauncher, :SOURCE, :FORK

  test "Exec starts a Ruby that loads the file with its arguments, and leads a process group" do
    first_message(SOURCE, arguments: %w[one two]) do |message, pid|
      assert_equal ["loaded", "onetwo", pid], [message.type, message["name"], Process.getpgid(pid)]
    end
  end

  test "Exec starts a mold that refuses an invalid file with a sentence" do
    first_message("Skep.swarm('a', (") do |message,|
      assert_equal ["refused", 78], [message.type, message["exit_code"]]
      assert_match(/swarm\.rb: line 1: syntax error/, message["sentence"])
    end
  end

  test "Fork forks the mold from the program; the mold closes the supervisor's descriptors" do
    out, err, status = run_program(FORK)
    assert_equal ["", 0], [err, status.exitstatus]
    closed, facts, pid = out.lines(chomp: true)
    assert_equal ["closed in #{pid}", '["here", true, "loaded", "here", true]'], [closed, facts]
  end

  test "Exec says why Bundler can't begin in a new mold" do
    launcher = MoldLauncher::Exec.new("none.rb")
    assert_nil launcher.obstacle
    out, = run_program(<<~'RUBY')
      require "tmpdir"
      require "skep/swarm"
      launcher = Skep::Swarm::Molds::MoldLauncher::Exec.new("/none.rb")
      folder = Dir.mktmpdir
      ENV["BUNDLE_GEMFILE"] = "#{folder}/Gemfile"
      puts launcher.obstacle.sub(folder, "folder")
      Dir.chdir(folder)
      Dir.rmdir(folder)
      puts launcher.obstacle
    RUBY
    assert_equal "the Gemfile folder/Gemfile was deleted\n" \
                 "the directory that the swarm was started in was deleted\n", out
  end

  test "a process that can't be started leaves no descriptor open" do
    launcher = MoldLauncher::Exec.new("none.rb")
    def launcher.command = ["/nonexistent/ruby"] # as an update of Ruby leaves it
    GC.disable # it would close what is left open
    before = Dir.children("/proc/self/fd").size
    5.times { assert_raises(Errno::ENOENT) { launcher.start(1) } }
    assert_raises(Errno::EAGAIN) { MoldLauncher.connect(1) { raise Errno::EAGAIN } }
    assert_equal before, Dir.children("/proc/self/fd").size
  ensure
    GC.enable
  end

  private

  def first_message(source, arguments: [])
    Dir.mktmpdir do |folder|
      File.write("#{folder}/swarm.rb", source)
      launcher = MoldLauncher::Exec.new("#{folder}/swarm.rb", arguments:)
      pid, channel = launcher.start(0)
      yield channel.take(timeout: 20), pid
    ensure
      channel&.close # ends the mold
      Process.wait(pid) if pid
    end
  end
end
