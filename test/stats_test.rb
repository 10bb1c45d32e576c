# frozen_string_literal: true

require "test_helper"
require_relative "../rakelib/stats"

# What `rake stats` counts, and that lib keeps to its limits.
class StatsTest < Skep::TestCase
  test "an entry file counts for the folder beside it, any other file for its own folder" do
    { "lib/skep.rb" => "lib/skep", "lib/skep/kafka.rb" => "lib/skep/kafka",
      "lib/skep/kafka/producer.rb" => "lib/skep/kafka/producer",
      "lib/skep/version.rb" => "lib/skep" }.each do |path, folder|
      assert_equal folder, Stats.folder(path), path
    end
  end

  test "names a folder that has more than 12 files with its entry file" do
    full = Array.new(12) { |number| "lib/skep/swarm/nodes/file_#{number}.rb" }
    lines = (full + ["lib/skep/swarm/nodes.rb"]).to_h { |path| [path, 10] }
    assert_equal ["13 files in lib/skep/swarm/nodes"], Stats.over(lines)
    assert_empty Stats.over(lines.except("lib/skep/swarm/nodes.rb"))
  end

  test "no folder and no file of lib is above its limit" do
    lines = Dir["lib/**/*.rb"].to_h { |path| [path, Stats.code_lines(path)] }
    assert_empty Stats.over(lines).grep(/ in lib/)
  end
end
