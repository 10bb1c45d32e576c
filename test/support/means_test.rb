# frozen_string_literal: true

require "test_helper"
require "tmpdir"

# A test or scenario that lacks something is skipped, or fails where the machine promises it.
class MeansTest < Skep::TestCase
  ROOT = File.expand_path("../..", __dir__)
  private_constant :ROOT

  test "promised? reads SKEP_NO_SKIP, or CI if that isn't set" do
    { {} => false, { "CI" => "true" } => true, { "CI" => "false" } => false,
      { "SKEP_NO_SKIP" => "1" } => true, { "SKEP_NO_SKIP" => "0", "CI" => "true" } => false,
      { "SKEP_NO_SKIP" => "", "CI" => "true" } => false }.each do |env, promised|
      assert_equal promised, Means.promised?(env), env.inspect
    end
  end

  test "a test that lacks something is skipped, or fails with SKEP_NO_SKIP=1" do
    source = <<~RUBY
      $LOAD_PATH.unshift("#{ROOT}/test")
      require "test_helper"
      Class.new(Skep::TestCase) { test("needs fish") { missing "fish" } }
    RUBY
    { "0" => "0 failures, 0 errors, 1 skips", "1" => "1 failures, 0 errors, 0 skips" }
      .each do |promise, summary|
      out, = run_program(source, env: { "SKEP_NO_SKIP" => promise }, gems: true)
      assert_includes out, summary
    end
  end

  test "skipped scenarios are counted, and printed with their reasons" do
    out, status = scenarios("0", "good" => "must('be') { true }", "missing" => "missing 'a moon'",
                                 "other" => "skip 'another Ruby'")
    assert_predicate status, :success?, out
    assert_match(/^1 passed, 0 failed, 2 skipped$/, out)
    assert_match(/^skip +[\d.]+ s  .*missing\.rb$/, out)
    assert_equal 2, out.scan(/^skipped missing: a moon$/).size, out
    assert_match(/^skipped other: another Ruby$/, out)
  end

  test "with SKEP_NO_SKIP=1 a scenario that lacks something fails, but `skip` doesn't" do
    out, status = scenarios("1", "missing" => "missing 'a moon'", "other" => "skip 'another Ruby'")
    refute_predicate status, :success?
    assert_match(/^0 passed, 1 failed, 1 skipped$/, out)
    assert_match(/this machine lacks what it promises: a moon/, out)
  end

  test "a killed scenario counts as failed" do
    out, = scenarios("0", "killed" => "Process.kill(:KILL, Process.pid)")
    assert_match(/^0 passed, 1 failed, 0 skipped$/, out)
  end

  private

  # Returns what the Rakefile prints about such scenarios, and its exit status.
  def scenarios(promise, sources)
    Dir.mktmpdir do |directory|
      sources.each { |name, body| File.write("#{directory}/#{name}.rb", scenario(body)) }
      out, err, status = run_program(<<~RUBY, env: { "SKEP_NO_SKIP" => promise }, gems: true)
        require "rake"
        Dir.chdir("#{ROOT}")
        load "Rakefile"
        run_scenarios("#{directory}")
      RUBY
      [out + err, status]
    end
  end

  def scenario(body)
    "require \"#{ROOT}/test/scenario/scenario\"\nScenario.play { #{body} }\n"
  end
end
