# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ConfigTest < Skep::TestCase
  WORK = { "threads" => 1, "errors" => [] }.freeze
  OWN = { **WORK, "options" => { "nodes" => 2 } }.freeze

  test "has the defaults of the design" do
    config = config({})

    assert_predicate config, :valid?
    assert_equal [Skep::OS::Cgroup.processors] * 2, [config.nodes, config.boot_concurrency]
    assert_equal [60.0, 30.0, 30.0, 5.0, 5.0],
                 config.to_h.values_at(:boot_timeout, :liveness_timeout, :stop_timeout,
                                       :kill_timeout, :orphan_timeout)
    assert_equal [:always, 5, 60.0, :backoff],
                 config.to_h.values_at(:restart, :max_restarts, :restart_window, :on_crash_loop)
    assert_equal [true, true, :warn],
                 config.to_h.values_at(:huge_pages, :process_titles, :fork_guard)
  end

  test "reports every error at once, each with what to do" do
    config = config({ nodes: 0, stop_timeout: -1, restart: "sometimes", nods: 3, chaos: "maybe" })

    assert_equal 5, config.errors.size
    assert_includes config.errors, "nodes must be a whole number from 1 to 100000 (got 0)"
    assert_includes config.errors, "unknown option: nods (did you mean nodes?)"
  end

  test "names the setting of systemd for an option that the init system has" do
    assert_equal ["unknown option: user (systemd's User= sets it)",
                  "unknown option: core_dump (systemd's LimitCORE= sets it)"],
                 config({ user: "nobody", core_dump: true }).errors
  end

  test "refuses a swarm without work, and a name that is no file name" do
    assert_match(/has no work/, Skep::Swarm::Definition::Config.new("a", {}).errors.join)
    assert_match(/invalid name "a\/b"/,
                 Skep::Swarm::Definition::Config.new("a/b", {}, tasks: [WORK]).errors.join)
  end

  test "warns of an option that has no effect because of another one" do
    config = config({ memory_limit: "512M", spares: 1, restart: :never })

    assert_predicate config, :valid?
    assert_equal 536_870_912, config.memory_limit
    assert_equal ["spares has no effect with restart :never: none of them ever steps in"],
                 config.warnings
  end

  test "warns of refork_after where only children can be watched" do
    warnings = config({ refork_after: 100 }).warnings

    assert_equal Skep::OS::Pidfd.native?, warnings.empty?
    assert_match(/refork_after has no effect here/, warnings.first) if warnings.any?
  end

  test "accepts metrics addresses that need no name lookup" do
    %w[127.0.0.1:9394 [::1]:0 [::]:9394 localhost:80 unix:/run/billing.metrics].each do |good|
      assert_empty config({ metrics: good }).errors
    end
    ["9394", "metrics.example.com:9394", "127.0.0.1:65536", "unix:relative", "", 1].each do |bad|
      assert_match(/\Ametrics must be an address such as .* \(got #{Regexp.escape(bad.inspect)}\)/,
                   config({ metrics: bad }).errors.join)
    end
  end

  test "control takes a path, or false for no socket, which it warns of" do
    path = config({ control: "/run/x.sock" })
    assert_equal ["/run/x.sock", true, []], [path.control_path, path.control?, path.warnings]
    [false, "false"].each do |none|
      without = config({ control: none })
      assert_equal [[], false], [without.errors, without.control?]
      assert_match(/control is false: .*signals can/, without.warnings.join)
      assert_match(%r{/a\.sock\z}, without.control_path)
    end
    assert_match(/control must be a path .*, or false/, config({ control: 3 }).errors.join)
  end

  test "keeps an option that is set to false" do
    refute config({ huge_pages: false }).huge_pages
  end

  test "places each work on its nodes" do
    config = Skep::Swarm::Definition::Config.new("a", { nodes: 3 },
                                     tasks: [WORK, { **OWN, "threads" => 5 }])

    assert_equal [0, 0, 0, 1, 1], config.placement
    assert_equal 5, config.threads
  end

  test "reports what decided the number of nodes" do
    default = Skep::OS::Cgroup.processors_from
    of_work = ->(*tasks) { Skep::Swarm::Definition::Config.new("a", {}, tasks:).nodes_from }

    assert_equal default, config({}).nodes_from
    assert_equal default, config({ nodes: nil }).nodes_from
    assert_equal default, of_work.call(OWN, WORK)
    assert_equal "option", config({ nodes: Skep::OS::Cgroup.processors }).nodes_from
    assert_equal "option", of_work.call(OWN)
  end

  test "finds the run directory by user and environment" do
    path = ->(env, uid) { Skep::Swarm::Definition::RunDirectory.path(env:, uid:) }

    assert_equal "/run/skep", path.call({}, 0)
    assert_equal "/run/user/1/skep", path.call({ "XDG_RUNTIME_DIR" => "/run/user/1" }, 1)
    assert_equal "/tmp/skep-1", path.call({}, 1)
    assert_equal "/tmp/skep-1", path.call({ "XDG_RUNTIME_DIR" => "" }, 1)
    error = assert_raises(Skep::Swarm::Definition::RunDirectory::Missing) do
      path.call({ "SKEP_RUN_DIR" => "" }, 0)
    end
    assert_match(/SKEP_RUN_DIR is empty: set it to the directory of the control socket, or/,
                 error.message)
  end

  private

  def config(options) = Skep::Swarm::Definition::Config.new("a", options, tasks: [WORK])
end
