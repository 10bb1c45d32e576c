# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class WorkTest < Skep::TestCase
  Definition = Skep::Swarm::Definition
  Source = Struct.new(:facts, :work_name) do
    def errors = []
    def threads = 1
    def run(*) = nil
  end
  private_constant :Definition, :Source

  test "an option of a work is its own, or else the swarm's" do
    web, jobs = works(stop_timeout: 20, memory_limit: "512M") do |swarm|
      swarm.work("web", memory_limit: "1G", restart: :on_failure, nodes: nil) { nil }
      swarm.work("jobs", stop_timeout: 60, nodes: 3) { nil }
    end
    assert_equal [1 << 30, :on_failure, 20.0, 2],
                 [web.memory_limit, web.restart, web.stop_timeout, web.nodes]
    assert_equal [512 << 20, :always, 60.0, 3],
                 [jobs.memory_limit, jobs.restart, jobs.stop_timeout, jobs.nodes]
    assert_equal({ memory_limit: 1 << 30, restart: :on_failure }, web.own)
  end

  test "an option may be named by a String, as one from a YAML file" do
    web, = works { |swarm| swarm.work("web", **{ "stop_timeout" => 60 }) { nil } }
    assert_equal({ stop_timeout: 60.0 }, web.own)
  end

  test "nil turns an option off that the swarm has" do
    options = { memory_limit: "1G", max_lifetime: 60, never_restart_on: 3 }
    web, = works(**options) do |swarm|
      swarm.work("web", liveness_timeout: nil, **options.transform_values { nil }) { nil }
    end
    assert_equal [nil] * 4, [web.liveness_timeout, web.memory_limit, web.max_lifetime,
                             web.never_restart_on]
    assert_in_delta 30.0, web.beats_within
  end

  test "the mold gets the works as the supervisor knows them" do
    swarm = swarm_of { |one| one.work("web", liveness_timeout: nil, kill_timeout: 1) { nil } }
    plain = JSON.parse(JSON.generate(config(swarm).works.map(&:to_plain)))
    again = Definition::Config.new("s", {}, tasks: plain).works.first
    assert_equal ["web", true, { liveness_timeout: nil, kill_timeout: 1.0 }],
                 [again.name, again.named?, again.own]
  end

  { { stop_timeout: -1 } => "stop_timeout of a work must be a number of seconds above 0 (got -1)",
    { stop_timeout: nil } => "stop_timeout of a work must be a number of seconds above 0 (got nil)",
    { nodes: 0 } => "nodes of a work must be a whole number from 1 to 100000 (got 0)",
    { memory_limit: "x" } => "memory_limit of a work must be a size such as \"512M\" or a number " \
                             "of bytes, or nil for none (got \"x\")",
    { stop_timeout: 1i } => "stop_timeout of a work must be a number of seconds above 0 " \
                            "(got (0+1i))",
    { node: 1 } => "unknown option of a work: node (did you mean nodes?)",
    { log_level: :debug } => /\Alog_level is an option of the swarm alone: those of a work are n/,
    { color: 1 } => /\Aunknown option of a work: color \(those of a work are nodes, / }
    .each do |options, sentence|
    test "refuses #{options} in the caller's line" do
      error = refusal { |swarm| swarm.work("web", **options) { nil } }
      assert_match(sentence, error.message)
    end
  end

  test "refuses a name that is none, a second work of the same name, and one that does nothing" do
    assert_match(/\Ainvalid name "a b": a work's name has 1 to 100 letters/,
                 refusal { |swarm| swarm.work("a b") { nil } }.message)
    ["a\xFF", "a\xFF".b, "web".encode(Encoding::UTF_16LE)].each do |name|
      assert_match(/\Ainvalid name "a?\S+": a work's name has 1/,
                   refusal { |swarm| swarm.work(name) { nil } }.message)
    end
    assert_equal "two works are called web: give each a name of its own",
                 refusal { |swarm| 2.times { swarm.work(:web) { nil } } }.message
    assert_match(/\Awork web does nothing: give it one, `swarm.work\("web", source\) \{/,
                 refusal { |swarm| swarm.work("web") }.message)
    assert_match(/\Awork web has a block for what a source gives it, and no source: /,
                 refusal { |swarm| swarm.work("web") { |batch, _| batch } }.message)
    assert_equal "swarm.work takes a name and a source, in this order, and options by their names",
                 refusal { |swarm| swarm.work(Source.new({}), "web") { nil } }.message
  end

  test "a work without a name is called as its source proposes, as its group, or work" do
    names = works do |swarm|
      swarm.work { nil }
      swarm.work("billing-2") { nil }
      2.times { swarm.work(Source.new({ group: "billing" })) { nil } }
      swarm.work(Source.new({ "group" => "a" }, "mail")) { nil }
      swarm.work { nil }
    end.map(&:name)
    assert_equal %w[work billing-2 billing billing-3 mail work-2], names
  end

  test "the longest value of an option counts where it is about all works" do
    swarm = swarm_of(stop_timeout: 20) do |one|
      one.work("web", stop_timeout: 60, memory_limit: nil) { nil }
      one.work("jobs", stop_timeout: 5) { nil }
    end
    assert_in_delta 60.0, config(swarm).longest(:stop_timeout)
    assert_nil config(swarm).longest(:memory_limit)
  end

  private

  def swarm_of(**options, &block) = Skep::Swarm.new("s", nodes: 2, **options, &block)

  def config(swarm)
    plain = JSON.parse(JSON.generate(swarm.__to_plain))
    Definition::Config.new(plain["name"], plain["options"], tasks: plain["tasks"])
  end

  def works(**options, &block) = config(swarm_of(**options, &block)).works

  # Returns the error of a description that is refused, which must begin in this file.
  def refusal(&block)
    error = assert_raises(Definition::InvalidDescription) { swarm_of(&block) }
    assert_operator error.backtrace.first, :start_with?, "#{__FILE__}:"
    error
  end
end
