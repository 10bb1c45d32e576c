# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tmpdir"
require "skep/cli"

# What `skep web` refuses; what it serves is in test/scenario/web.
class WebCommandTest < Skep::TestCase
  def setup
    @directory = Dir.mktmpdir
    @password = "#{@directory}/password"
    File.write(@password, "secret\n", perm: 0o600)
  end

  def teardown = FileUtils.remove_entry(@directory)

  test "isn't open to others without a password" do
    ["0.0.0.0", "::", "192.0.2.1"].each do |address|
      assert_match(/others could reach the page: give --user and --password-file/,
                   refusal("--bind", address))
    end
    assert_match(/"nowhere" is no address/, refusal("--bind", "nowhere"))
  end

  test "wants a user with a password" do
    assert_match(/go together/, refusal("--user", "ada"))
    assert_match(/go together/, refusal("--password-file", @password))
  end

  test "reads a password that nobody else can" do
    user = ["--user", "ada", "--password-file", @password]
    File.chmod(0o644, @password)
    assert_match(/others may read .*: chmod 600/, refusal(*user))
    File.write(@password, "\n")
    File.chmod(0o600, @password)
    assert_match(/is empty/, refusal(*user))
    File.unlink(@password)
    assert_match(/can't be read: No such file or directory/, refusal(*user))
  end

  test "says that Puma is missing" do
    run = "require 'skep/cli'; exit Skep::CLI.start(%w[web --port 0])"
    out, err, status = run_program(run, env: { "RUBYOPT" => "--disable=gems" })
    assert_equal ["", 1], [out, status.exitstatus]
    assert_match(/\Askep: skep web is served by Puma.*gem install puma.*\n\z/, err)
  end

  private

  def refusal(*argv)
    err = StringIO.new
    assert_equal 64, Skep::CLI.start(["web", "--port", "0", *argv], out: StringIO.new, err:)
    assert_equal 1, err.string.lines.size
    err.string
  end
end
