# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep"

# What skep does with the gem, by `reshare: true`. Each test runs programs of its own, because the
# slab stays installed.
class ReshareTest < Skep::TestCase
  EXTCONF = File.expand_path("../../ext/skep_reshare/extconf.rb", __dir__)
  SWARM = <<~RUBY
    early = $LOADED_FEATURES.any? { |path| path.end_with?("/skep/reshare.rb") }
    Skep.swarm "shared", nodes: 1, restart: :never, reshare: true do |swarm|
      swarm.preload { puts "early: \#{early}, loaded: \#{Skep.const_defined?(:Reshare)}" }
      swarm.work { |_node| puts "shared: \#{Skep::Reshare::HeapPageSlab.shared_bytes.positive?}" }
    end
  RUBY
  SHARED = "the records of \\d+ of \\d+ heap pages"
  private_constant :EXTCONF, :SWARM, :SHARED

  def setup
    super
    skip "the sanitizer has its own malloc" if ENV["LD_PRELOAD"]&.include?("asan")
  end

  test "a warmup reports that the records are shared, or why not" do
    expected = resharing? ? /\A#{SHARED}\z/ : /\Askipped: it needs the C extension\z/
    assert_match expected, output_of(<<~RUBY)
      require "skep/reshare"
      print Skep.warmup(reshare: true).to_plain["reshare"]
    RUBY
  end

  test "skep/cow_fork shares the records, if that is supported" do
    assert_match resharing? ? /\A#{SHARED}\z/ : /\A\z/, output_of(<<~RUBY)
      require "skep/reshare"
      require "skep/cow_fork"
      Process.wait(fork { exit! })
      print Skep::Fork::CowFork.report.to_plain["reshare"]
    RUBY
  end

  test "up to Ruby 3.2 a Ractor ends the sharing" do
    skip "Ruby 3.3 and newer go on" if RUBY_VERSION >= "3.3"
    skip "it needs the C extension" unless resharing?
    assert_match(/\Athere was a Ractor/, output_of(<<~RUBY))
      require "skep/reshare"
      Warning[:experimental] = false
      Ractor.new { nil }.take
      print Skep::Reshare::HeapPageSlab.share
    RUBY
  end

  test "a mold loads it before preload, and from its second boot on before the swarm's file" do
    Dir.mktmpdir do |folder|
      File.write("#{folder}/swarm.rb", SWARM)
      [false, true].each do |early|
        out = output_of(<<~RUBY, "SKEP_RUN_DIR" => folder)
          require "skep/cli"
          exit Skep::CLI.start(%w[run #{folder}/swarm.rb --control false --log-level debug])
        RUBY
        assert_includes out, "early: #{early}, loaded: true\n"
        assert_includes out, "shared: #{resharing?}\n"
        warmed = out[/^.* mold_warmed .*/].to_s
        assert_match(resharing? ? /\bDEBUG\b.*#{SHARED}/ : /\bWARN\b.*it needs the C ext/, warmed)
      end
    end
  end

  test "the build succeeds without a compiler, and builds nothing" do
    Dir.mktmpdir do |folder|
      command = [RbConfig.ruby, "-C", folder, "-e", "load ARGV[0]", EXTCONF]
      out, = run_command({ "RUBYOPT" => nil, "PATH" => "/nonexistent" }, *command, timeout: 60)
      assert_match(/will have no effect/, out)
      refute_equal false, system("make", "--silent", "all", "install", "clean", chdir: folder)
      assert_empty Dir["#{folder}/**/*.so"]
    end
  end

  private

  def resharing? = Skep::OS.native?

  def output_of(program, env = {})
    out, err, status = run_program(program, env:, timeout: 60)
    assert_equal "", err
    assert_predicate status, :success?, out
    out
  end
end
