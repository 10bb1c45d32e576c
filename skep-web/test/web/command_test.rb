# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tmpdir"
require "skep/cli"

# What `skep web` refuses; test/scenario/web shows what it serves.
class WebCommandTest < Skep::TestCase
  def setup
    @directory = Dir.mktmpdir
    @password = "#{@directory}/password"
    File.write(@password, "secret\n", perm: 0o600)
  end

  def teardown = FileUtils.remove_entry(@directory)

  test "an address that other machines can reach needs a password" do
    ["0.0.0.0", "::", "192.0.2.1"].each do |address|
      assert_match(/other machines can reach the page: give --user and --password-file/,
                   refusal("--bind", address))
    end
    assert_match(/"nowhere" is not an address/, refusal("--bind", "nowhere"))
  end

  test "a user needs a password, and a password a user" do
    assert_match(/go together/, refusal("--user", "ada"))
    assert_match(/go together/, refusal("--password-file", @password))
  end

  test "the password file must be readable for its owner only, and not empty" do
    user = ["--user", "ada", "--password-file", @password]
    File.chmod(0o644, @password)
    assert_match(/other users may read .*: chmod 600/, refusal(*user))
    File.write(@password, "\n")
    File.chmod(0o600, @password)
    assert_match(/is empty/, refusal(*user))
    File.unlink(@password)
    assert_match(/can't be read: No such file or directory/, refusal(*user))
  end

  test "a swarm file needs a Kafka source with a dead letter topic" do
    needs_gems "puma", "rack", "rack/session"
    plain = file("plain.rb", "Skep.swarm(\"s\") { |swarm| swarm.work { |node| node.wait } }")
    without = file("without.rb", source("a:1", nil))
    wrong = file("wrong.rb", source("", "a.dead"))
    two = %w[a:1 b:1].map { |brokers| file("#{brokers[0]}.rb", source(brokers, "a.dead")) }
    { [plain] => /plain\.rb: none of its work reads from Kafka/,
      [without] => /without\.rb: none of its sources has a dead_letter_topic/,
      [wrong] => /bootstrap\.servers is missing/,
      two => /b\.rb: another swarm file has the dead letter topic a\.dead, with other settings/,
      ["#{@directory}/no.rb"] => /no\.rb/ }.each do |paths, sentence|
      refused = refusal(*paths.flat_map { |path| ["--file", path] }, code: nil)
      assert_match sentence, refused
      refute_includes refused, "hunter2"
    end
  end

  test "without its gems, prints which gems to install" do
    run = "require 'skep/cli'; exit Skep::CLI.start(%w[web --port 0])"
    out, err, status = run_program(run, env: { "RUBYOPT" => "--disable=gems" })
    assert_equal ["", 1], [out, status.exitstatus]
    assert_match(/\Askep: skep web needs the gems puma \(6 .*\), rack .* and rack-session /, err)
    assert_match(/run `gem install puma rack rack-session`, or .*Gemfile\n\z/, err)
  end

  private

  def needs_gems(*names)
    names.each { |name| require name }
  rescue LoadError => e
    missing("the gem of #{e.path}")
  end

  def file(name, text) = File.join(@directory, name).tap { |path| File.write(path, text) }

  def source(brokers, dead)
    <<~RUBY
      require "skep/kafka"
      Skep.swarm "s" do |swarm|
        kafka = { "bootstrap.servers": #{brokers.inspect}, "sasl.password": "hunter2" }
        swarm.work(Skep::Kafka::Source.new(kafka:, group: "g", topics: "a",
                                           dead_letter_topic: #{dead.inspect})) {}
      end
    RUBY
  end

  # code: nil for any.
  def refusal(*argv, code: 64)
    err = StringIO.new
    status = Skep::CLI.start(["web", "--port", "0", *argv], out: StringIO.new, err:)
    assert_equal code || status, status
    refute_equal 0, status
    assert_equal 1, err.string.lines.size
    err.string
  end
end
