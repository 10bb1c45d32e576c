# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# Each kind of problem from the facts of a status, and none without them.
class DiagnosisTest < Skep::TestCase
  Diagnosis = Skep::Swarm::Diagnosis
  NODE = { "id" => 3, "pid" => 42, "task" => 0, "state" => "ready", "assigned" => true,
           "deaths" => { "boot" => 0, "work" => 0 }, "crash_loop" => false, "last_exit" => nil,
           "memory" => { "uss" => 612 << 20 }, "beat_age" => 0.3, "unhealthy" => nil,
           "down_for" => nil, "looping_for" => nil, "retry_in" => nil, "replacing" => nil,
           "successor" => nil, "ending" => nil, "failure" => nil, "unfit" => nil,
           "unhealthy_for" => nil, "slow" => [], "work_name" => "orders",
           "work" => { "done" => 7 } }.freeze
  STATUS = { "name" => "billing", "state" => "running", "crash_loop" => false, "suspects" => [],
             "works" => [{ "work" => 0, "kind" => "block", "name" => "orders" }], "change" => nil,
             "failed_change" => nil, "over_budget" => nil, "quiet_for" => nil }.freeze
  SEGV = { "signal" => "SEGV", "exit_status" => nil, "reason" => nil, "seconds_ago" => 4.0 }.freeze
  RAISED = { "error" => "KeyError: key not found: :id", "at" => "app.rb:12" }.freeze
  WAITING = { "state" => "waiting", "pid" => nil, "last_exit" => SEGV, "down_for" => 4.0,
              "retry_in" => 2.2 }.freeze
  SLOW = { "thread" => 2, "item" => "orders/0/17-42 at 25", "seconds" => 16.2, "limit" => 30.0,
           "at" => "app.rb:7" }.freeze

  # kind => level, subject, words of the text, since, at, words of `doing`, and the facts.
  OF_A_NODE = {
    "crash_loop" => ["critical", "node 3", "began, the last by SIGSEGV: KeyError", 9.0,
                     "app.rb:12", "in 3 s",
                     { **WAITING, "crash_loop" => true, "looping_for" => 9.0, "failure" => RAISED,
                       "deaths" => { "boot" => 3, "work" => 4 } }],
    "waiting" => ["warning", "node 3", "it has no process: KeyError", 4.0, "app.rb:12", "in 3 s",
                  { **WAITING, "failure" => RAISED }],
    "ended" => ["warning", "node 3", "ended by exit status 3", 4.0, nil, "restart",
                { "state" => "dead", "last_exit" => { "exit_status" => 3, "seconds_ago" => 4.0 } }],
    "hung" => ["critical", "node 3", "25 (thread 2): it hangs", 16.2, "app.rb:7", "KILL",
               { "ending" => "hung", "beat_age" => 0.2, "slow" => [SLOW] }],
    "no_progress" => ["warning", "node 3", "orders/0/17-42 at 25 (thread 2)", 16.2, "app.rb:7",
                      "after 30.0 s", { "slow" => [SLOW] }],
    "unhealthy" => ["warning", "node 3", "can't work: no database", 2.0, nil, "liveness_timeout",
                    { "unhealthy" => "no database", "unhealthy_for" => 2.0 }],
    "unfit" => ["warning", "node 3", "other nodes can do: broken pipe", 1.5, nil, "dead letter",
                { "unfit" => { "why" => "unfit", "error" => "broken pipe",
                               "seconds_ago" => 1.5 } }],
    "over_memory" => ["warning", "node 3", "memory_limit, at 612 MiB", nil, nil, "successor",
                      { "replacing" => "memory_limit" }]
  }.freeze
  OF_THE_SWARM = {
    "quiet" => ["info", "swarm", "nothing new", 5.0, "starts no new work",
                { "state" => "quiet", "quiet_for" => 5.0 }],
    "rollout" => ["info", "reload", "(canary); a restart waits", 2.5, "one node after the other",
                  { "change" => { "name" => "reload", "state" => "canary", "seconds" => 2.5,
                                  "next" => "restart" } }],
    "rollout_failed" => ["warning", "reload", "the last reload failed: no such file", 8.0,
                         "the code from before",
                         { "failed_change" => { "name" => "reload", "error" => "no such file",
                                                "hint" => nil, "seconds_ago" => 8.0 } }],
    "suspect" => ["warning", "orders/0@41", "in flight: 3, alone: 2 (SIGSEGV)", 6.0, "alone",
                  { "suspects" => [{ "in_flight" => "orders/0@41", "crashes" => 3, "alone" => 2,
                                     "ends" => ["SIGSEGV"], "seconds_ago" => 6.0 }] }],
    "over_memory" => ["warning", "swarm", "takes 600 MiB of its memory_budget of 512 MiB", nil,
                      "frees most",
                      { "over_budget" => { "bytes" => 600 << 20, "budget" => 512 << 20 } }],
    "crash_loop" => ["warning", "helper", "swarm.on", nil, "later each time",
                     { "crash_loop" => true }]
  }.freeze
  private_constant :NODE, :STATUS, :SEGV, :RAISED, :WAITING, :SLOW, :OF_A_NODE, :OF_THE_SWARM

  OF_A_NODE.each do |kind, (level, subject, text, since, at, doing, facts)|
    test "#{kind} is named from the facts of a node" do
      found = kinds({ **NODE, **facts }, { **NODE, "id" => 4 })
      assert_equal [kind], found.map { |one| one["kind"] }
      one = found.first
      assert_equal [level, subject, since, at, 3, "orders"],
                   one.values_at("level", "subject", "since", "at", "node", "work")
      assert_includes one["text"], text
      assert_includes one["doing"], doing
      refute_empty one["advice"]
    end
  end

  test "a node that hangs as a whole has no line; one that stops goes on without progress" do
    one, = found = kinds({ **NODE, "ending" => "hung", "beat_age" => 31.0 })
    assert_equal [1, "it hangs, and is being replaced", 31.0, nil],
                 [found.size, *one.values_at("text", "since", "at")]
    one, = found = kinds({ **NODE, "state" => "stopping", "slow" => [SLOW] })
    assert_equal [1, "no_progress", "app.rb:7"], [found.size, *one.values_at("kind", "at")]
    assert_includes one["doing"], "stop_timeout"
  end

  OF_THE_SWARM.each do |kind, (level, subject, text, since, doing, facts)|
    test "#{kind} is named from the facts of the swarm" do
      found = kinds(NODE, **facts)
      assert_equal [[kind, level, subject, since]],
                   found.map { |one| one.values_at("kind", "level", "subject", "since") }
      assert_includes found.first["text"], text
      assert_includes found.first["doing"], doing
      refute_empty found.first["advice"]
    end
  end

  test "what is still suspected is a problem, however long ago the crash was" do
    suspect = { "in_flight" => "GET /orders", "crashes" => 1, "alone" => 0, "ends" => ["SIGKILL"] }
    found = kinds(NODE, "suspects" => [{ **suspect, "seconds_ago" => 3_000.0 }])
    assert_equal(["suspect"], found.map { |one| one["kind"] })
  end

  test "what was in flight at a single crash is no problem before its node was replaced" do
    found = [[1, 0, 9.9], [1, 0, 10.0], [2, 0, 0.1], [1, 1, 0.1]].map do |crashes, alone, ago|
      suspect = { "in_flight" => "orders/0@41", "crashes" => crashes, "alone" => alone,
                  "ends" => ["SIGKILL"], "seconds_ago" => ago }
      kinds(NODE, "suspects" => [suspect]).size
    end
    assert_equal [0, 1, 1, 1], found
  end

  test "what plugins found is sorted in, and may be missing" do
    others = [Diagnosis.problem("mail_lost", "warning", subject: "post", text: "it is lost",
                                since: 1.0, doing: "skep waits", advice: "wait, too")]
    status = { **STATUS, "nodes" => [{ **NODE, **WAITING, "crash_loop" => true }] }
    kinds = [others, []].map { |more| Diagnosis.of(status, more).map { |one| one["kind"] } }
    assert_equal [%w[no_node_ready crash_loop mail_lost], %w[no_node_ready crash_loop]], kinds
  end

  test "a swarm whose facts are those of ordinary work has no problem" do
    replaced = { **NODE, "state" => "stopping", "successor" => "ready", "replacing" => "restart",
                 "last_exit" => { "exit_status" => 0, "reason" => "restart" } }
    just_died = { **NODE, **WAITING, "down_for" => 0.4, "retry_in" => nil }
    booting = { **NODE, "state" => "booting", "down_for" => 30.0, "last_exit" => SEGV }
    done = { **NODE, "state" => "dead", "last_exit" => { "exit_status" => 0 } }
    [NODE, replaced, just_died, booting, done, { **NODE, "id" => "spare 0", "task" => nil }]
      .each { |node| assert_empty kinds(node, { **NODE, "id" => 4 }), node }
    assert_empty Diagnosis.of("state" => "booting")
  end

  test "a swarm that stops has no problem, whatever its nodes do" do
    %w[stopping stopped].each do |state|
      assert_empty kinds({ **NODE, **WAITING, "crash_loop" => true }, "state" => state)
    end
  end

  test "a work without a ready node is named, once its nodes had time to be replaced" do
    down = { **NODE, "state" => "booting", "last_exit" => SEGV }
    found = kinds({ **down, "down_for" => 3.0 }, { **down, "id" => 4, "down_for" => 40.0 })
    assert_equal [["no_node_ready", "critical", "work orders", 3.0]],
                 found.map { |one| one.values_at("kind", "level", "subject", "since") }
    assert_empty kinds({ **down, "down_for" => 1.9 })
    assert_empty kinds({ **down, "down_for" => nil })
    first = kinds({ **NODE, "state" => "booting", "down_for" => 0.1 })
    assert_equal(%w[no_node_ready warning], first.first.values_at("kind", "level"))
  end

  test "a node in a crash loop whose process works is less urgent, and is named once" do
    found = kinds({ **NODE, "crash_loop" => true, "looping_for" => 9.0, "last_exit" => SEGV })
    assert_equal [%w[crash_loop warning]], found.map { |one| one.values_at("kind", "level") }
  end

  test "a node that is ended as unhealthy isn't said to hang" do
    ["no disk", nil].each do |reason| # once it stops, it says nothing more
      found = kinds({ **NODE, "ending" => "unhealthy", "unhealthy" => reason })
      assert_equal [["unhealthy", "skep replaces it"]],
                   found.map { |one| one.values_at("kind", "doing") }
    end
  end

  test "the most urgent problems come first, of the same kind the oldest" do
    slow = { **NODE, "slow" => [SLOW, { **SLOW, "thread" => 1, "seconds" => 20.0 }] }
    found = kinds(slow, { **NODE, **WAITING, "id" => 4, "crash_loop" => true },
                  "change" => { "name" => "restart", "state" => "rolling", "seconds" => 1.0 })
    assert_equal %w[crash_loop no_progress no_progress rollout], found.map { |one| one["kind"] }
    assert_equal([20.0, 16.2], found[1, 2].map { |one| one["since"] })
  end

  test "no more than 200 problems are listed" do
    assert_equal 200, kinds(*Array.new(300) { |id| { **NODE, "id" => id, "slow" => [SLOW] } }).size
  end

  test "plugins add their problems and kinds" do
    plugin = Class.new(Skep::Plugin) do
      def problem_kinds = %w[queue_away]

      def problems(status)
        [Skep::Swarm::Diagnosis.problem("queue_away", "critical", subject: status["name"],
                                        text: "it is away", since: 1.26, doing: "skep waits",
                                        advice: "start it")]
      end
    end
    Skep::Plugin.add("diagnosis_test", plugin.new)
    found = kinds({ **NODE, "work" => { "kind" => "diagnosis_test" } })
    assert_equal [["queue_away", 1.3]], found.map { |one| one.values_at("kind", "since") }
    assert_includes Diagnosis.kinds, "queue_away"
  ensure
    Skep::Plugin.loaded.delete("diagnosis_test")
  end

  test "each kind of skep's own is in this table" do
    assert_equal Diagnosis::KINDS.sort,
                 [*OF_A_NODE.keys, *OF_THE_SWARM.keys, "no_node_ready"].uniq.sort
  end

  test "by_node has the most urgent problem of each node, but nothing that was asked for" do
    problems = [["hung", "critical", 3], ["over_memory", "warning", 3], ["suspect", "warning", nil],
                ["partition_paused", "info", 1]].map do |kind, level, node|
      { "kind" => kind, "level" => level, "node" => node }
    end
    by_node = Skep::Swarm::Diagnosis.by_node({ "problems" => problems })
    assert_equal({ 3 => problems.first }, by_node)
    assert_empty Skep::Swarm::Diagnosis.by_node({})
  end

  private

  def kinds(*nodes, **facts) = Diagnosis.of({ **STATUS, **facts, "nodes" => nodes })
end
