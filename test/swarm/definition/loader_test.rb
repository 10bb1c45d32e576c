# frozen_string_literal: true

require "test_helper"
require "skep/swarm"
require "tmpdir"

class LoaderTest < Skep::TestCase
  test "finds the swarm a file describes" do
    assert_equal "a", load_text('Skep.swarm("a") { |swarm| swarm.work { } }').name
  end

  test "stops loading at the line that runs the swarm" do
    assert_equal "a", load_text("exit Skep.swarm('a') { }.run\nraise 'never here'").name
  end

  {
    "a syntax error" => ["puts 1\nSkep.swarm(\"a\" do", /swarm\.rb: line 2: syntax error/],
    "no swarm" => ["nil.to_s", /it describes no swarm: add/],
    "two swarms" => ["Skep.swarm('a'); Skep.swarm('b')", /describes 2 swarms \(a, b\): put each/],
    "an exception" => ["\nnope", /NameError while it was loaded, line 2: undefined local/],
    "a part of skep that it hasn't required" =>
      ["\nSkep::Cow_fork.new",
/NameError while it was loaded, line 2: .*Skep::Cow_fork: add `require "skep\/cow_fork"` above\z/],
    "an unknown part of skep" => ["raise Skep::Nothing", /uninitialized constant Skep::Nothing\z/],
    "an exit" => ["exit 3", /it called exit\(3\)/],
    "a missing library" => ["require 'no/such/library'",
                            /LoadError while it was loaded, line 1: cannot load/]
  }.each do |what, (text, sentence)|
    test "reports #{what} in one sentence" do
      error = assert_raises(Skep::Swarm::Definition::Loader::InvalidSwarmFile) { load_text(text) }

      assert_match(sentence, error.message)
      assert_equal 1, error.message.lines.size
    end
  end

  test "advises what to do after a syntax error" do
    refused = Skep::Swarm::Definition::Loader::InvalidSwarmFile
    first = assert_raises(refused) { load_text("(") }
    later = assert_raises(refused) { load_text("(", advice: "reload again") }

    assert_match(/: correct it, and run again\z/, first.message)
    assert_match(/: correct it, and reload again\z/, later.message)
  end

  test "reports a missing file" do
    error = assert_raises(Skep::Swarm::Definition::Loader::InvalidSwarmFile) do
      Skep::Swarm::Definition::Loader.new("no/such.rb").swarm
    end

    assert_equal "no/such.rb: there is no such file: name the file that describes the swarm",
                 error.message
  end

  private

  def load_text(text, **advice)
    Dir.mktmpdir do |directory|
      path = File.join(directory, "swarm.rb")
      File.write(path, text)
      Skep::Swarm::Definition::Loader.new(path, **advice).swarm
    end
  end
end
