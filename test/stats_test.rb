# frozen_string_literal: true

require "test_helper"
require_relative "../rakelib/stats"

# What `rake stats` counts.
class StatsTest < Skep::TestCase
  test "a file counts for the component whose folder it is in or beside" do
    { "skep/lib/skep.rb" => "others", "skep-kafka/lib/skep/kafka.rb" => "kafka",
      "skep/lib/skep/version.rb" => "others", "skep-kafka/lib/skep/kafka/producer.rb" => "kafka",
      "skep-rails/lib/active_job/adapter.rb" => "others" }.each do |path, component|
      assert_equal component, Stats.component(path), path
    end
  end
end
