# frozen_string_literal: true

require "test_helper"
require_relative "../rakelib/stats"

# What `rake stats` counts.
class StatsTest < Skep::TestCase
  test "a file counts for the component whose folder it is in or beside" do
    { "lib/skep.rb" => "others", "lib/skep/kafka.rb" => "kafka", "lib/skep/version.rb" => "others",
      "lib/skep/kafka/producer.rb" => "kafka" }.each do |path, component|
      assert_equal component, Stats.component(path), path
    end
  end
end
