# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class EnvironmentOptionsTest < Skep::TestCase
  Definition = Skep::Swarm::Definition
  private_constant :Definition

  test "reads each kind of option from its variable" do
    config = config({ "SKEP_NODES" => "3", "SKEP_STOP_TIMEOUT" => "2.5", "SKEP_CHAOS" => "true",
                      "SKEP_RESTART" => "on_failure", "SKEP_MEMORY_LIMIT" => "512M",
                      "SKEP_NEVER_RESTART_ON" => "77,78",
                      "SKEP_LOG" => "1000", "SKEP_METRICS" => "127.0.0.1:9394" })

    assert_empty config.errors
    assert_equal [3, 2.5, true, :on_failure, 512 << 20, [77, 78], "1000", "127.0.0.1:9394"],
                 config.to_h.values_at(:nodes, :stop_timeout, :chaos, :restart, :memory_limit,
                                       :never_restart_on, :log, :metrics)
  end

  test "one exit status alone is a list" do
    assert_equal [7], config({ "SKEP_NEVER_RESTART_ON" => "7" }).never_restart_on
  end

  test "an invalid value is one sentence that names the variable" do
    errors = config({ "SKEP_NODES" => "many", "SKEP_STOP_TIMEOUT" => "-9" }).errors

    assert_equal ["SKEP_NODES must be a whole number from 1 to 100000 (got \"many\")",
                  "SKEP_STOP_TIMEOUT must be a number of seconds above 0 (got -9)"], errors
  end

  test "ignores empty values and variables that are no option" do
    found = Definition::EnvironmentOptions.read({ "SKEP_NODES" => "", "SKEP_PURE" => "1",
                                                  "SKEP_RUN_DIR" => "/run", "SKEP_NODE_ID" => "0" })
    assert_empty found
  end

  private

  def config(environment)
    options = Definition::EnvironmentOptions.read(environment)
    Definition::Config.new("a", options, tasks: [{ "errors" => [] }])
  end
end
