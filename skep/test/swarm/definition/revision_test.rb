# frozen_string_literal: true

require "test_helper"
require "skep/swarm"
require "tmpdir"

class RevisionTest < Skep::TestCase
  Revision = Skep::Swarm::Definition::Revision

  def setup
    super
    @directory = Dir.mktmpdir
  end

  def teardown
    FileUtils.remove_entry(@directory)
    super
  end

  test "is in the file REVISION beside the swarm file, or above its folder config" do
    write("REVISION", "4f0c1e2\n")
    assert_equal %w[4f0c1e2 4f0c1e2], [found("swarm.rb"), found("config/skep.rb")]
    assert_nil found("lib/skep.rb")
    Dir.chdir(@directory) do
      assert_equal %w[4f0c1e2 4f0c1e2], ["config/skep.rb", nil].map { |file|
        Revision.found(file, env: {})
      }
    end
  end

  test "is found through a link that a deploy has moved" do
    %w[1 2].each { |release| write("releases/#{release}/REVISION", "r#{release}") }
    current = File.join(@directory, "current")
    found = %w[1 2].map do |release|
      FileUtils.rm_f(current)
      File.symlink(File.join(@directory, "releases", release), current)
      found("current/config/skep.rb")
    end
    assert_equal %w[r1 r2], found
  end

  test "else is what the environment says, if that can be one" do
    env = { "GIT_COMMIT" => "git", "HEROKU_SLUG_COMMIT" => "heroku", "KAMAL_VERSION" => "kamal" }
    assert_equal "kamal", found("swarm.rb", env)
    assert_equal "heroku", found("swarm.rb", env.merge("KAMAL_VERSION" => " "))
    assert_equal "git", found("swarm.rb", env.slice("GIT_COMMIT"))
    assert_nil found("swarm.rb", {})
    assert_nil found("swarm.rb", { "GIT_COMMIT" => "x" * 101 })
    write("REVISION", "file")
    assert_equal "file", found("swarm.rb", env)
    write("REVISION", "\e[2J\n")
    assert_equal "kamal", found("swarm.rb", env)
  end

  test "the option takes a text of up to 100 characters" do
    assert_equal "v2.1 beta", config("v2.1 beta").revision
    assert_nil config(nil).revision
    ["", " ", "x" * 101, "a\nb", "\xff", 7].each do |value|
      assert_match(/\Arevision must be a text of 1 to 100 characters/, config(value).errors.first)
    end
  end

  private

  def found(file, env = {}) = Revision.found(File.join(@directory, file), env:)

  def config(revision)
    Skep::Swarm::Definition::Config.new("s", { "revision" => revision }, tasks: [{}])
  end

  def write(path, text)
    path = File.join(@directory, path)
    FileUtils.mkdir_p(File.dirname(path))
    File.write(path, text)
  end
end
