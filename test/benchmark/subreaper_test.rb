# frozen_string_literal: true

require "test_helper"
require_relative "../../benchmark/command"

class BenchmarkSubreaperTest < Skep::TestCase
  # A benchmark that starts a server with a worker, then acts, and at its end does something, too.
  BENCHMARK = <<~'RUBY'
    require "./benchmark/command"
    $stdout.sync = true
    code = Skep::Benchmarks::Subreaper.run do
      server = spawn("sleep infinity & echo $!; exec sleep infinity", pgroup: true)
      begin
        puts server, Process.pid, "begun"
        %s
        3
      ensure
        %s
        puts "in order"
      end
    end
    puts "code #{code}"
  RUBY
  WAIT = "$stdin.read"
  # As the program that stops a broker does, which isn't the broker's parent.
  KILL_ORPHAN = <<~'RUBY'
    orphan = IO.popen(["sh", "-c", "sleep infinity >/dev/null & echo $!"], &:read).to_i
    Process.kill(:KILL, orphan)
    deadline = Skep::OS.now + 120
    $stdin.wait_readable(0.02) while File.exist?("/proc/#{orphan}") && Skep::OS.now < deadline
    puts "reaped" unless File.exist?("/proc/#{orphan}")
  RUBY
  private_constant :BENCHMARK, :WAIT, :KILL_ORPHAN

  def setup
    super
    skip "there are no pidfds" unless Skep::OS.native? && Skep::OS::Pidfd.native?
  end

  test "ends what a benchmark has started and left, and returns its exit code" do
    assert_equal [3, []], result("nil")
  end

  test "ends what a benchmark has started that was killed or has raised" do
    assert_equal [137, []], result("Process.kill(:KILL, Process.pid); #{WAIT}")
    assert_equal [1, []], result('$stderr.reopen(IO::NULL); raise "a bug"')
  end

  test "reaps what a benchmark has left and killed" do
    code, left, lines = run_benchmark(KILL_ORPHAN)
    assert_equal [3, [], true], [code, left, lines.include?("reaped")]
  end

  test "passes TERM on to the benchmark, and lets it end in order" do
    code, left, lines = run_benchmark(WAIT) { |subreaper| Process.kill(:TERM, subreaper) }
    assert_equal [143, [], true], [code, left, lines.include?("in order")]
  end

  test "lets the benchmark end in order if it is killed itself" do
    _, _, lines = run_benchmark(WAIT, "Process.kill(:KILL, -server)") do |subreaper|
      Process.kill(:KILL, subreaper)
    end
    assert_includes lines, "in order"
  end

  private

  def result(...) = run_benchmark(...).first(2)

  # Returns the exit code, the pids that are left, and what was printed. The block gets the
  # subreaper's pid once all runs.
  def run_benchmark(acts, ends = "nil")
    program = format(BENCHMARK, acts, ends)
    subreaper = IO.popen([RbConfig.ruby, "-r./load_path", "-e", program], "r+")
    lines = Array.new(4) { wait_readable(subreaper).gets.chomp }
    yield subreaper.pid if block_given?
    lines.concat(subreaper.each_line.map(&:chomp))
    left = lines.grep(/\A\d+\z/).select { |pid| File.exist?("/proc/#{pid}") }
    [lines.grep(/\Acode/).first.to_s[/\d+/]&.to_i, left, lines]
  ensure
    subreaper&.close
  end
end
