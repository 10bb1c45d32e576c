# frozen_string_literal: true

require "test_helper"
require_relative "../../benchmark/command"
require_relative "../../benchmark/recovery"

# A server that runs, and how it is ended; in a process of its own, which becomes the subreaper.
class BenchmarkServerRunTest < Skep::TestCase
  BENCHMARK = File.expand_path("../../benchmark", __dir__)
  LOAD = <<~RUBY
    require "#{BENCHMARK}/command"
    require "#{BENCHMARK}/recovery"
    ServerRun, ServerUnderTest, ProcessTree =
      %i[ServerRun ServerUnderTest ProcessTree].map { |name| Skep::Benchmarks.const_get(name) }
  RUBY
  private_constant :BENCHMARK, :LOAD

  test "lists the workers that run, and those that have ended" do
    assert_equal "2 true [] 1\n", in_program(<<~RUBY)
      ServerRun.of(ServerUnderTest::BARE_LOOP) do |run|
        workers = run.await(2)
        print run.below.size, " ", run.workers.sort == workers.map(&:pid).sort, " "
        print run.others, " "
        run.signal(workers.first.pid, :KILL)
        puts [run.arrival(10)].size
      end
    RUBY
  end

  test "leaves no process and no folder after its supervisor was stopped or killed" do
    assert_equal "[] true\n", in_program(<<~RUBY)
      folders = [:STOP, :KILL].map do |signal|
        ServerRun.of(ServerUnderTest::BARE_LOOP, workers: 3) do |run|
          pids = run.await(3).map(&:pid)
          run.signal(pids.first, :STOP)
          run.end!(signal)
          run.folder
        end
      end
      puts "\#{ProcessTree.below("self")} \#{folders.none? { |folder| File.exist?(folder) }}"
    RUBY
  end

  test "leaves no process after an error" do
    assert_equal "RuntimeError []\n", in_program(<<~RUBY)
      begin
        ServerRun.of(ServerUnderTest::BARE_LOOP) { |run| run.await(1) && raise("enough") }
      rescue RuntimeError => e
        puts "\#{e.class} \#{ProcessTree.below("self")}"
      end
    RUBY
  end

  test "raises with the output of a server that can't start" do
    assert_match(/broken ended: .*cannot load such file -- nowhere/, in_program(<<~RUBY))
      require "tmpdir"
      Dir.mktmpdir do |folder|
        File.write("\#{folder}/broken.rb", "require 'nowhere'")
        server = ServerUnderTest.new("broken", "../../../../../../../../../..\#{folder}/broken")
        ServerRun.of(server) { |run| run.await(1) }
      rescue Skep::Benchmarks::Program::Failed => e
        puts e.message
      end
    RUBY
  end

  private

  def in_program(source)
    skip Skep::Benchmarks::ServerRun.refusal if Skep::Benchmarks::ServerRun.refusal
    out, err, = run_program(LOAD + source, timeout: 60)
    assert_empty err
    out
  end
end
