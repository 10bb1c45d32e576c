# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "tmpdir"
require "skep/os"

# The C extension is built and loaded if possible. Otherwise skep works with its fallbacks.
class NativeTest < Skep::TestCase
  ROOT = File.expand_path("../../..", __dir__)
  EXTCONFS = %w[skep/ext/skep skep-kafka/ext/skep_kafka].map do |folder|
    "#{ROOT}/#{folder}/extconf.rb"
  end.freeze
  ASK = <<~RUBY
    require "skep/os"
    print [Skep::OS, Skep::OS::Pidfd, Skep::OS::SharedPage].map(&:native?).join(" ")
  RUBY
  private_constant :ROOT, :EXTCONFS, :ASK

  test "SKEP_PURE=1 disables the C extension" do
    out, err, = run_program(ASK, env: { "SKEP_PURE" => "1" })
    assert_equal ["false false false", ""], [out, err]
  end

  test "warns once if the C extension doesn't load, and uses the fallbacks" do
    Dir.mktmpdir do |dir|
      FileUtils.cp_r("#{ROOT}/skep/lib/.", dir)
      File.write("#{dir}/skep/skep_ext.so", "no library")
      out, err = ask(dir)
      assert_equal "false false false", out
      assert_match(/\Askep: the C extension doesn't load.*\n\z/, err)
    end
  end

  test "prints no warning if the C extension was never built" do
    Dir.mktmpdir do |dir|
      FileUtils.cp_r("#{ROOT}/skep/lib/.", dir)
      FileUtils.rm_f("#{dir}/skep/skep_ext.so")
      out, err = ask(dir)
      assert_equal ["false false false", ""], [out, err]
    end
  end

  test "the build succeeds without a compiler, and builds nothing" do
    builds_nothing("load ARGV[0]", "PATH" => "/nonexistent")
  end

  test "the build succeeds on another system, and builds nothing" do
    builds_nothing(<<~RUBY)
      Object.send(:remove_const, :RUBY_PLATFORM)
      RUBY_PLATFORM = "arm64-darwin23"
      load ARGV[0]
    RUBY
  end

  test "is compiled by the C standard that Ruby was configured with, without a warning" do
    skip "it needs the C extension" unless Skep::OS.native?
    built = EXTCONFS.flat_map { |extconf| built_by_standard(extconf) }
    assert_equal %w[skep_ext skep_kafka], built
  end

  test "the C of Kafka has the header of the shared page's cells" do
    one, other = EXTCONFS.map { |extconf| File.read(File.join(File.dirname(extconf), "cell.h")) }
    assert_equal one, other
  end

  private

  # Runs ASK with the skep in that folder.
  def ask(dir)
    env = { "SKEP_PURE" => nil, "RUBYOPT" => nil }
    run_command(env, RbConfig.ruby, "-w", "-I#{dir}", "-e", ASK, timeout: 30)
  end

  # Returns the names of the libraries that are built.
  def built_by_standard(extconf)
    Dir.mktmpdir do |dir|
      File.write("#{dir}/standard.h", <<~C)
        #if __STDC_VERSION__ <= 201710L
        #error "not the standard of Ruby's CC"
        #endif
      C
      configured = <<~RUBY
        $0 = ARGV[0] # mkmf looks for the sources beside it
        require "mkmf"
        RbConfig::MAKEFILE_CONFIG["CC"] += " -std=gnu2x -include #{dir}/standard.h"
        load ARGV[0]
      RUBY
      # The compiler would be slow with a sanitizer's library in it.
      env = { "RUBYOPT" => nil, "SKEP_WERROR" => "1", "LD_PRELOAD" => nil }
      out, err, = run_command(env, RbConfig.ruby, "-C", dir, "-e", configured, extconf, timeout: 60)
      refute_match(/Ruby does its work/, out, err)
      out, err, status = run_command(env, "make", "--silent", "-C", dir, "optflags=-O1",
                                     timeout: 120)
      assert_predicate status, :success?, out + err
      Dir["#{dir}/*.so"].map { |path| File.basename(path, ".so") }
    end
  end

  # system returns nil if there is no make.
  def builds_nothing(program, env = {})
    EXTCONFS.each do |extconf|
      Dir.mktmpdir do |dir|
        command = [RbConfig.ruby, "-C", dir, "-e", program, extconf]
        out, = run_command({ "RUBYOPT" => nil, **env }, *command, timeout: 60)
        assert_match(/Ruby does its work/, out)
        refute_equal false, system("make", "--silent", "all", "install", "clean", chdir: dir)
        assert_empty Dir["#{dir}/**/*.so"]
      end
    end
  end
end
