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
    "a syntax error" =>
      ["puts 1\nSkep.swarm(\"a\" do",
       /swarm\.rb: line 2: syntax error, .*(?:unexpected|expected) .*['`]\)/],
    "a text without an end" => ["_a = \"b", /swarm\.rb: line 1: .*unterminated string/],
    "no swarm" => ["nil.to_s", /it describes no swarm: add/],
    "two swarms" => ["Skep.swarm('a'); Skep.swarm('b')", /describes 2 swarms \(a, b\): put each/],
    "an exception" => ["\nnope", /NameError while it was loaded, line 2: undefined local/],
    "a part of skep that it hasn't required" =>
      ["\nSkep::Cow_fork.new",
       /NameError while it was loaded, line 2: .*Cow_fork: add `require "skep\/cow_fork"` above\z/],
    "an unknown part of skep" => ["raise Skep::Nothing", /uninitialized constant Skep::Nothing\z/],
    "an exit" => ["exit 3", /it called exit\(3\)/],
    "a text in place of a source" =>
      ["\nSkep.swarm('a') { |swarm|\nswarm.work('orders') { |batch, node| }\n}",
       /\.rb: line 3: work orders has a block for what a source gives it, and no source: give it/],
    "a class in place of a source" =>
      ["Skep.swarm('a') { |swarm| swarm.work(String) { } }",
       /\.rb: line 1: swarm\.work .* the class String: make one of it, String\.new\(…\)\z/],
    "an array in place of a source" =>
      ["Skep.swarm('a') { |swarm| swarm.work(%w[a b]) { } }", /: line 1: .* given Array of 2: \S/],
    "nil in place of a source" =>
      ["Skep.swarm('a') { |swarm| swarm.work(nil) { } }",
       /: line 1: .* given nil: leave it out for a plain block\z/],
    "a hook without a block" => ["Skep.swarm('a', &:on_boot)", /: line 1: on_boot takes a block\z/],
    "an event without a block" => ["Skep.swarm('a') { _1.on(:node_died) }",
                                   /: line 1: on takes a block\z/],
    "a missing library" => ["require 'no/such/library'",
                            /LoadError while it was loaded, line 1: cannot load/]
  }.each do |what, (text, sentence)|
    test "reports #{what} in one sentence" do
      error = assert_raises(Skep::Swarm::Definition::Loader::InvalidSwarmFile) { load_text(text) }

      assert_match(sentence, error.message)
      assert_equal 1, error.message.lines.size
    end
  end

  test "a wrong call is a wrong configuration, the application's exception a failure" do
    codes = ["Skep.swarm('a') { |swarm| swarm.work(nil) { } }", "raise 'no'"].map do |text|
      assert_raises(Skep::Swarm::Definition::Loader::InvalidSwarmFile) { load_text(text) }.exit_code
    end

    assert_equal [78, 1], codes
  end

  test "a wrong call raises in the user's line" do
    error = assert_raises(Skep::Swarm::Definition::InvalidDescription) do
      Skep.swarm("a") { |swarm| swarm.work("orders") }
    end

    assert_match(/\A#{__FILE__}:#{__LINE__ - 3}:/, error.backtrace.first)
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
