# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "json"
require "tmpdir"
require_relative "../../benchmark/command"

# The parts of a benchmark, one by one.
class BenchmarkHarnessTest < Skep::TestCase
  Subject, Benchmark, Checkout, Figures, DerivedFigure, Goal, Peer, Program, Statistics, Table =
    %i[Subject Benchmark Checkout Figures DerivedFigure Goal Peer Program Statistics Table]
      .map { |part| Skep::Benchmarks.const_get(part) }
  private_constant(*constants(false))

  # Has the subjects, goals and derived figures that a test gives it.
  class Sample < Benchmark
    TITLE = "R&D <or> not"
    UNIT = "µs"
    ROUNDS = 3
    REFERENCE = "base"
    SIZES = { turns: 10 }.freeze

    attr_reader :subjects

    def initialize(*subjects, goals: nil, derived: [], **options)
      super(**options)
      @subjects = subjects
      @goals = goals
      @derived = derived
    end

    def goals(rows) = @goals ? @goals.call(rows) : []
    def derived(_rows) = @derived
    def turns = size(:turns)
  end

  private_constant :Sample

  test "medians and quartiles lie between samples where they fall there" do
    assert_equal 2.0, Statistics.median([3, 1, 2])
    assert_equal 2.5, Statistics.median([4, 1, 2, 3])
    assert_equal [1.75, 2.5, 3.25], Statistics.quartiles([4, 3, 2, 1])
    assert_equal [7.0, 7.0, 7.0], Statistics.quartiles([7])
    assert_raises(ArgumentError) { Statistics.median([]) }
  end

  test "a line through points has their slope, and how well it fits" do
    line = Statistics.line([[0, 1.0], [10, 21.0], [20, 41.0]])
    assert_equal [2.0, 1.0, 1.0], line.to_a
    assert_in_delta 0.75, Statistics.line([[0, 0], [1, 2], [2, 1], [3, 3]]).r2, 0.12
    assert_equal [0.0, 5.0, 1.0], Statistics.line([[0, 5], [1, 5]]).to_a
  end

  test "figures have three significant digits and no exponent" do
    { 16.482 => "16.5", 0.00123456 => "0.00123", 1_234_567.8 => "1,230,000", 999.6 => "1,000",
      9.996 => "10.0", 0.0 => "0.00", -41.84 => "-41.8", 20 => "20", 2.0 => "2.00", 0.1 => "0.100",
      nil => "-" }.each { |figure, text| assert_equal text, Figures.text(figure), figure.inspect }
  end

  test "each round measures every subject once, in an order of its own" do
    order = []
    subjects = %w[base a b c].map { |name| Subject.new(name) { order << name && 1.0 } }
    Sample.new(*subjects, rounds: 20, random: Random.new(1)).run
    rounds = order.each_slice(4).to_a
    assert(rounds.all? { |names| names.sort == %w[a b base c] })
    assert_operator rounds.uniq.size, :>, 5
  end

  test "the subjects of a group are measured one after the other" do
    order = []
    subjects = %w[a1 b1 a2 b2 a3].map do |name|
      Subject.new(name, group: name[0]) { order << name && 1.0 }
    end
    Sample.new(*subjects, rounds: 20, random: Random.new(1)).run
    rounds = order.each_slice(5).to_a
    groups = rounds.map { |names| names.map { |name| name[0] }.chunk(&:itself).map(&:first) }
    assert_equal [%w[a b], %w[b a]], groups.uniq.sort
    assert_operator rounds.uniq.size, :>, 5
  end

  test "medians, quartiles and ratios come from the rounds" do
    figures = [1.0, 2.0, 9.0].each
    report = run_sample(constant("base", 4.0), Subject.new("a") { figures.next })
    row = report.rows["a"]
    assert_equal [1.5, 2.0, 5.5], [row.low, row.median, row.high]
    assert_equal 0.5, report.rows.relative(row)
    assert_equal 2.0, report.rows.ratio("base", "a")
  end

  test "a subject may give several columns" do
    report = run_sample(Subject.new("base") { { "fork" => 2.0 } },
                        Subject.new("a") { { "fork" => 4.0, "PSS MiB" => 80.0 } })
    assert_equal [4.0, 80.0], %w[fork PSS\ MiB].map { |name| report.rows.median("a", column: name) }
    lines = Table.new(report).lines
    assert_includes lines, "        fork   quartiles  x base  PSS MiB"
    assert_includes lines, "  a     4.00  4.00..4.00    2.00     80.0"
    assert_includes lines, "  base  2.00  2.00..2.00    1.00        -"
  end

  test "most returns a column's largest figure of all rounds" do
    figures = [3.0, 7.0, 5.0]
    report = run_sample(Subject.new("a") { { "ms" => 1.0, "worst" => figures.shift || 1.0 } })
    assert_equal [7.0, nil], %w[worst none].map { |column| report.rows["a"].most(column) }
  end

  test "a skipped subject is a row with the reason, in the table and in JSON" do
    report = run_sample(constant("base", 1.0), *absent)
    reasons = ["install it", "can't here", "failed: ruby"]
    skipped = %w[gem kernel broken].map { |name| report.rows[name].skipped }
    skipped.zip(reasons).each { |text, reason| assert text.start_with?(reason), text }
    assert_match(/^  gem +skipped: install it$/, Table.new(report).lines.join("\n"))
    row = JSON.parse(report.to_json)["rows"][1]
    assert_equal({ "name" => "gem", "group" => "", "version" => nil, "settings" => {},
                   "against" => "base", "unit" => "µs", "samples" => {}, "median" => nil,
                   "low" => nil, "high" => nil, "ratio" => nil, "skipped" => "install it",
                   "never" => false, "more" => {} }, row)
    assert_nil report.rows.ratio("gem", "base")
  end

  test "a subject that raises Never is a row with the reason only" do
    report = run_sample(Subject.new("a") { raise Subject::Never, "never within 40 s" })
    assert_match(/^  a +never within 40 s$/, Table.new(report).lines.join("\n"))
    row = JSON.parse(report.to_json)["rows"].find { |each| each["name"] == "a" }
    assert_equal ["never within 40 s", nil], row.values_at("skipped", "median")
  end

  test "a subject that fails in a later round has no figure" do
    rounds = 0
    report = run_sample(Subject.new("a") do
      (rounds += 1) == 2 ? raise(Subject::Skipped, "it broke") : 1.0
    end)
    assert_equal ["it broke", nil], [report.rows["a"].skipped, report.rows["a"].median]
  end

  test "goals are met, missed or not measured" do
    { [1.154, 1.15, :at_most] => true, [1.2, 1.15, :at_most] => false, [4.0, 4, :at_least] => true,
      [3.9, 4, :at_least] => false, [nil, 4, :at_least] => nil }.each do |(figure, limit, how), met|
      assert_equal [met], [Goal.public_send(how, "a goal", figure, limit).met?]
    end
    assert_equal "missed        a goal: 1.20 (at most 1.15)", Goal.at_most("a goal", 1.2, 1.15).to_s
    assert_match(/\Anot measured  a goal: - /, Goal.at_most("a goal", nil, 2).to_s)
  end

  test "raises for duplicate names, unknown sizes and incomplete subjects" do
    assert_raises(ArgumentError) { Sample.new(constant("a", 1), constant("a", 2)).run }
    assert_raises(ArgumentError) { Sample.new(nonsense: 1) }
    assert_raises(ArgumentError) { Subject.new("neither measured nor skipped") }
    assert_equal [10, 3], [Sample.new, Sample.new(turns: 3)].map(&:turns)
  end

  test "--only measures the subjects whose name contains the text, and keeps their goals" do
    goals = ->(rows) { [goal(rows, "ab"), goal(rows, "c")] }
    report = Sample.new(constant("base", 1.0), constant("ab", 2.0), constant("c", 3.0),
                        goals:, only: "b").run
    assert_equal %w[base ab], report.rows.map(&:name)
    assert_equal %w[ab], report.goals.map(&:name)
  end

  test "--only skep measures the subjects that run skep's code" do
    report = Sample.new(constant("base", 1.0), constant("x", 2.0, ours: true), only: "skep").run
    assert_equal %w[x], report.rows.map(&:name)
    assert_nil report.rows.relative(report.rows["x"])
  end

  test "--against measures the subjects that run skep's code in the other checkout, too" do
    other_checkout do |path|
      at = Subject.new("x", ours: true) { Checkout.path == path ? 2.0 : 1.0 }
      report = Sample.new(constant("base", 1.0), at, checkout: path).run
      there = "x @#{File.basename(path)}"
      assert_equal ["base", "x", there], report.rows.map(&:name)
      assert_equal [1.0, 2.0], ["x", there].map { |name| report.rows.median(name) }
      assert_equal [0.5, 1.0], ["x", there].map { |name| report.rows.relative(report.rows[name]) }
      refute_equal path, Checkout.path
    end
  end

  test "a checkout uses its own programs, or this one's if it lacks them" do
    other_checkout do |path|
      FileUtils.mkdir_p("#{path}/benchmark")
      File.write("#{path}/benchmark/cow.rb", "")
      Checkout.use(path) do
        assert_equal "#{path}/benchmark/cow.rb", Checkout.file("benchmark/cow.rb")
        assert_equal File.expand_path("../../benchmark/pid.rb", __dir__),
                     Checkout.file("benchmark/pid.rb")
      end
      assert_match(/no checkout of skep/, Checkout.refusal(path))
    end
  end

  test "another checkout may have a folder for each gem, or one for all" do
    { %w[skep/ skep-kafka/] => %w[skep-kafka/lib skep/lib],
      [""] => %w[lib] }.each do |gems, expected|
      other_checkout do |path|
        gems.each { |gem| FileUtils.mkdir_p("#{path}/#{gem}lib/skep") }
        FileUtils.mkdir_p("#{path}/#{gems.first}exe")
        FileUtils.touch(["#{path}/#{gems.first}exe/skep"])
        assert_match(/isn't built/, Checkout.refusal(path)) if Skep::OS.native?
        FileUtils.touch("#{path}/#{gems.first}lib/skep/skep_ext.so")
        assert_nil Checkout.refusal(path)
        Checkout.use(path) do
          assert_equal expected.map { |folder| "#{path}/#{folder}" }, Checkout.libraries
          assert_equal "#{path}/#{gems.first}exe/skep", Checkout.exe
        end
      end
    end
  end

  test "a program's figures are its last line" do
    assert_equal 1.5, Program.run("puts 'loading'; puts 1.5")
    assert_equal [3, 4], Program.run("p ARGV.map(&:to_i)", args: [3, "4"])
    assert_equal "x", Program.run("p ENV['SKEP_TEST']", env: { "SKEP_TEST" => "x" })
    assert_equal [], Program.run("p [defined?(Gem), ENV['RUBYOPT']].compact")
    assert_equal true, Program.run("require 'skep/os'; p true", ruby: Checkout.flags)
  end

  test "the error of a failed program has its output" do
    { "abort 'no disk'" => /ended with exit 1: no disk/, "puts 'hello'" => /printed no figures/,
      "exit!(true)" => /printed no figures/ }.each do |source, sentence|
      assert_match sentence, assert_raises(Program::Failed) { Program.run(source) }.message
    end
    error = assert_raises(Program::Failed) { Program.run(["/no/such/program"]) }
    assert_match(/program can't be run/, error.message)
  end

  test "raises for a program that isn't over at its timeout" do
    error = assert_raises(Program::Failed) do
      Program.run("reader, writer = IO.pipe; reader.read; writer", timeout: 0.1)
    end
    assert_match(/wasn't over after 0.1 s/, error.message)
  end

  test "an interrupt kills a program with all its children" do
    with_fifo do |path, witness|
      source = "fork; File.open(ARGV[0], 'w') { |io| io.syswrite('u'); IO.select([IO.pipe[0]]) }"
      running = Thread.new { Program.run(source, args: [path]) }
      running.report_on_exception = false
      2.times { wait_readable(witness).readpartial(1) }
      running.raise(Interrupt)
      assert_raises(Interrupt) { running.value }
      assert_equal "", wait_readable(witness).read
    end
  end

  test "a peer is found without being loaded, and a missing one is reported" do
    peer = Peer.find("minitest")
    assert_match(/\Aminitest \d/, peer.to_s)
    assert_equal "-I", peer.flags.first
    assert_nil Peer.find("no-such-gem-as-this")
    assert_match(/the gem pid_cache isn.t in reach/, Peer.missing("pid_cache"))
  end

  private

  def goal(rows, name) = Goal.at_most(name, rows.median(name), 9)
  def other_checkout = Dir.mktmpdir { |path| yield path }

  def constant(name, figure, **place) = Subject.new(name, **place) { figure }

  # Adds a base of 1.0 to compare with, unless one is given.
  def run_sample(*subjects)
    base = constant("base", 1.0) unless subjects.any? { |subject| subject.name == "base" }
    Sample.new(*base, *subjects).run
  end

  def with_fifo
    Dir.mktmpdir do |folder|
      File.mkfifo(path = "#{folder}/fifo")
      File.open(path, File::RDONLY | File::NONBLOCK) { |witness| yield path, witness }
    end
  end

  def absent
    [Subject.new("gem", skipped: "install it"),
     Subject.new("kernel") { raise Subject::Skipped, "can't here" },
     Subject.new("broken") { Program.run("abort 'broken'") }]
  end
end
