# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "tmpdir"
require "skep"

# The option `reshare` without the gem, or before that is loaded: with it, see skep-reshare/test.
class ReshareHookTest < Skep::TestCase
  LIB = File.expand_path("../../lib", __dir__)
  private_constant :LIB

  test "before skep/reshare is loaded, a warmup's report says so" do
    report = Skep.warmup(huge_pages: false, reshare: true)
    assert_equal "skipped: skep/reshare wasn't required", report.to_plain.fetch("reshare")
  end

  test "the option loads nothing where it is only checked" do
    out, = run_program(<<~RUBY)
      require "skep"
      config = Skep::Swarm::Definition::Config.new("a", { "reshare" => true }, tasks: [{}])
      print config.errors, $LOADED_FEATURES.grep(%r{/skep/(?:skep_)?reshare}).size
    RUBY
    assert_equal "[]0", out
  end

  test "without the gem the option is an error of the swarm file, and a warmup's step is skipped" do
    without_gem do |lib|
      File.write("#{lib}/swarm.rb", <<~RUBY)
        Skep.swarm("a", reshare: true) { |swarm| swarm.work { |node| node.wait } }
      RUBY
      out, err, status = ruby(lib, "-rskep/cli", "-e", "exit Skep::CLI.start(ARGV)", "check",
                             "#{lib}/swarm.rb")
      assert_equal [78, ""], [status.exitstatus, out]
      assert_equal "skep: #{lib}/swarm.rb: reshare needs the gem skep-reshare, which isn't " \
                   "installed: add it to the Gemfile\n", err
      out, err, = ruby(lib, "-rskep", "-e", "print Skep.warmup(reshare: true).to_plain['reshare']")
      assert_equal ["skipped: skep/reshare wasn't required", ""], [out, err]
    end
  end

  test "without the gem a mold isn't given it, although it was there at the last boot" do
    without_gem do |lib|
      out, err, = ruby(lib, "-rskep", "-e", <<~RUBY)
        hint = Skep::Swarm::Molds::HeapSizeHint.new("swarm.rb", directory: "#{lib}/run")
        hint.remember(slots: 1, reshare: true)
        print hint.requires, Dir.children("#{lib}/run").size
      RUBY
      assert_equal ["[]1", ""], [out, err]
    end
  end

  private

  # Runs the block with the path of a copy of skep's own files, beside which no other gem is.
  def without_gem
    Dir.mktmpdir do |lib|
      FileUtils.cp_r("#{LIB}/.", lib)
      yield lib
    end
  end

  def ruby(lib, *arguments)
    env = { "RUBYOPT" => "--disable=gems", "RUBYLIB" => nil }
    run_command(env, RbConfig.ruby, "-w", "-I#{lib}", *arguments, timeout: 30)
  end
end
