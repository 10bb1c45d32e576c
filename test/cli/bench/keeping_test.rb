# frozen_string_literal: true

require "test_helper"
require "skep/cli"
require "skep/cli/bench"
require "skep/cli/bench/parts"
require "skep/cli/bench/recovery"

# A keeper at work, and how it is ended; in a process of its own, which makes itself the subreaper.
class KeepingTest < Skep::TestCase
  LOAD = <<~RUBY
    require "skep/cli"
    require "skep/cli/bench"
    require "skep/cli/bench/parts"
    require "skep/cli/bench/recovery"
    Keeping, Keeper, Kin = %i[Keeping Keeper Kin].map { |name| Skep::CLI::Bench.const_get(name) }
  RUBY
  private_constant :LOAD

  test "tells who works, and who has ended" do
    assert_equal "2 true [] 1\n", in_program(<<~RUBY)
      Keeping.of(Keeper::BARE_LOOP) do |kept|
        workers = kept.await(2)
        print kept.below.size, " ", kept.workers.sort == workers.map(&:pid).sort, " "
        print kept.others, " "
        kept.signal(workers.first.pid, :KILL)
        puts [kept.arrival(10)].size
      end
    RUBY
  end

  test "leaves nothing, were it stopped, or its supervisor dead" do
    assert_equal "[] true\n", in_program(<<~RUBY)
      folders = [:STOP, :KILL].map do |signal|
        Keeping.of(Keeper::BARE_LOOP, workers: 3) do |kept|
          pids = kept.await(3).map(&:pid)
          kept.signal(pids.first, :STOP)
          kept.end!(signal)
          kept.folder
        end
      end
      puts "\#{Kin.below("self")} \#{folders.none? { |folder| File.exist?(folder) }}"
    RUBY
  end

  test "leaves nothing when it is left by an error" do
    assert_equal "RuntimeError []\n", in_program(<<~RUBY)
      begin
        Keeping.of(Keeper::BARE_LOOP) { |kept| kept.await(1) && raise("enough") }
      rescue RuntimeError => e
        puts "\#{e.class} \#{Kin.below("self")}"
      end
    RUBY
  end

  test "says what a keeper said that can't start" do
    assert_match(/broken ended: .*cannot load such file -- nowhere/, in_program(<<~RUBY))
      require "tmpdir"
      Dir.mktmpdir do |folder|
        File.write("\#{folder}/broken.rb", "require 'nowhere'")
        keeper = Keeper.new("broken", "../../../../../../../../../..\#{folder}/broken")
        Keeping.of(keeper) { |kept| kept.await(1) }
      rescue Skep::CLI::Bench::Program::Failed => e
        puts e.message
      end
    RUBY
  end

  private

  def in_program(source)
    skip Skep::CLI::Bench::Keeping.refusal if Skep::CLI::Bench::Keeping.refusal
    out, err, = run_program(LOAD + source, timeout: 60)
    assert_empty err
    out
  end
end
