# frozen_string_literal: true

require "test_helper"
require "open3"
require "tmpdir"
require "skep/kafka"

# Which librdkafka skep takes, and what it says of an old one.
class LibrdkafkaVersionTest < Skep::TestCase
  EXE = File.expand_path("../../../../skep/exe/skep", __dir__)
  Version = Skep::Kafka::Librdkafka::Version
  # Nobody listens on port 1.
  SWARM = <<~RUBY
    require "skep/kafka"
    Skep.swarm "old", nodes: 1 do |swarm|
      kafka = { "bootstrap.servers": "127.0.0.1:1" }
      source = Skep::Kafka::Source.new(kafka:, group: "g", topics: "t", connect_timeout: 1)
      swarm.work(source) { |batch, node| batch.each { |message| p message } }
    end
  RUBY
  private_constant :EXE, :Version, :SWARM

  test "is read from librdkafka's number" do
    assert_equal "2.11.1", Version.of(0x020b01ff).to_s
    assert_operator Version.of(0x020901ff), :<, Version.of(0x020b00ff)
  end

  test "is supported from 2.11 on" do
    refute_predicate Version.new([2, 10, 1]), :supported?
    assert_predicate Version.new([2, 11, 0]), :supported?
    assert_predicate Version.new([3, 0, 0]), :supported?
  end

  test "the warning names only what this version lacks, and the gem that has it" do
    old = Version.new([2, 11, 0]).warning(gem: "karafka-rdkafka 0.21.0")
    assert_match(/\Alibrdkafka 2\.11\.0 \(karafka-rdkafka 0\.21\.0\) lacks .*KIP-848/, old)
    assert_match(/karafka-rdkafka 0\.28 or newer/, old)
    newer = Version.new([2, 13, 2]).warning(gem: "karafka-rdkafka 0.25.0")
    refute_match(/KIP-848|position/, newer)
    assert_match(/a crash .* \(2\.14\.2\)/, newer)
    assert_nil Version.new([2, 14, 2]).warning(gem: "karafka-rdkafka 0.28.0")
  end

  test "one that is too old ends skep run and skep check with a sentence and 78" do
    with_old_librdkafka do |env|
      %w[run check].each do |command|
        out, err, status = skep(command, env)
        assert_equal ["", 78], [out, status.exitstatus], err
        assert_match(/\Askep: .*swarm.rb: librdkafka 2\.8\.0 .*is too old.* needs 2\.11 /, err)
        assert_match(/gem "karafka-rdkafka", ">= 0\.21"/, err)
        assert_equal 1, err.lines.size, err
      end
    end
  end

  test "one that can't be opened ends skep run and skep check with a sentence and 78" do
    with_librdkafka("not a library") do |env|
      %w[run check].each do |command|
        out, err, status = skep(command, env)
        assert_equal ["", 78], [out, status.exitstatus], err
        assert_match(/\Askep: .*: the librdkafka in karafka-rdkafka.* can't be opened \(Could/, err)
        assert_includes err, "run `gem uninstall karafka-rdkafka` and `gem install karafka-rdkafka"
        assert_equal 1, err.lines.size, err
      end
    end
  end

  test "a program without a swarm gets a Skep::Error for one that is too old" do
    with_old_librdkafka do |env|
      out, err, = run_program(<<~RUBY, env:, gems: :bundler)
        require "skep/kafka"
        begin
          Skep::Kafka::Producer.new({ "bootstrap.servers": "127.0.0.1:1" })
        rescue Skep::Error => e
          print e.message
        end
      RUBY
      assert_empty err
      assert_match(/\Alibrdkafka 2\.8\.0 .* is too old/, out)
    end
  end

  test "what the installed one lacks is a warning of skep check and at boot" do
    lacks = Skep::Kafka::Librdkafka::Bindings.warning
    Dir.mktmpdir do |dir|
      env = { "SWARM" => file(dir), "SKEP_RUN_DIR" => dir }
      _, err, = skep("check", env)
      assert_equal lacks ? ["skep: #{env["SWARM"]}: warning: #{lacks}\n"] : [], err.lines
      out, = skep("run", env)
      assert_equal lacks ? 1 : 0, out.scan("work_warning").size, out
    end
  end

  private

  def file(dir) = "#{dir}/swarm.rb".tap { |path| File.write(path, SWARM) }

  def skep(command, env)
    run_command({ **gems_by(:bundler), **env }, RbConfig.ruby, "-w", "-r./load_path", EXE, command,
                env.fetch("SWARM"), timeout: 60)
  end

  # Yields an environment with a librdkafka 2.8 that has no function but the one for its number.
  def with_old_librdkafka(&block)
    Dir.mktmpdir do |dir|
      File.write("#{dir}/old.c", "int rd_kafka_version(void) { return 0x020800ff; }\n")
      text, status = Open3.capture2e({ "LD_PRELOAD" => nil }, "cc", "-shared", "-fPIC", "-o",
                                     "#{dir}/old.so", "#{dir}/old.c")
      missing "a C compiler: #{text}" unless status.success?
      with_librdkafka(File.binread("#{dir}/old.so"), &block)
    end
  end

  # Yields an environment with this as librdkafka's file.
  def with_librdkafka(content)
    Dir.mktmpdir do |dir|
      FileUtils.mkdir_p(%w[lib/rdkafka ext].map { |name| "#{dir}/#{name}" })
      File.write("#{dir}/lib/rdkafka/version.rb", "")
      File.binwrite("#{dir}/ext/librdkafka.so", content)
      path = ["#{dir}/lib", *ENV.fetch("RUBYLIB", nil)].join(File::PATH_SEPARATOR)
      yield({ "SWARM" => file(dir), "SKEP_RUN_DIR" => dir, "RUBYLIB" => path })
    end
  end
end
