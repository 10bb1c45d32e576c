# frozen_string_literal: true

require "test_helper"
require_relative "../../benchmark/command"
require_relative "../../benchmark/cow"

class CowBenchmarkTest < Skep::TestCase
  SIZES = { objects: 2_000, children: 2, written: 2_000, every: 10 }.freeze
  PROGRAMS = File.expand_path("../../benchmark/cow", __dir__)
  private_constant :SIZES, :PROGRAMS

  test "measures each subject or skips it with a reason, and has the goals" do
    report = Skep::Benchmarks::Cow.new(rounds: 1, **SIZES).run
    assert_empty report.rows.map(&:skipped).grep(/failed/)
    report.rows.each { |row| assert row.measured? ^ row.skipped, row.name }
    growth, writes = report.rows.groups.values
    assert_columns ["after / before", "before MiB", "after MiB"], growth
    assert_columns ["private MiB", "of it by writing MiB", "first read ms"], writes
    assert_operator report.rows["Skep.warmup"].median, :>=, 1.0
    goals = report.goals.to_h { |goal| [goal.name, goal.limit] }
    assert_equal 1.10, goals["with re-sharing"]
    assert_equal 1.05, goals["huge pages leave as much shared"]
    assert_equal RUBY_VERSION < "3.2", goals.key?("with heap slots pre-sized")
  end

  test "reports a gem that isn't installed" do
    assert_equal({ "skipped" => "nakayoshi_fork isn't there" },
                 run_one("growth", "nakayoshi", 1_000, 1))
  end

  test "returns the slots that a heap needs" do
    slots = run_one("slots", 10_000)
    assert_operator slots.values.sum(&:to_i), :>=, 10_000
    assert(slots.keys.all? { |name| name.match?(/\ARUBY_GC_HEAP_(?:\d_)?INIT_SLOTS\z/) })
  end

  test "measures the memory that a child's collection makes private" do
    plain, warm = %w[nothing skep_small].map { |way| run_one("growth", way, 50_000, 2) }
    assert_operator plain["private MiB a child"], :>, warm["private MiB a child"]
    assert_operator plain["after / before"], :>, warm["after / before"]
  end

  test "builds the same heap each time, and finds its arrays" do
    program = <<~RUBY
      require "#{PROGRAMS}/heap"
      heap = Heap.new(10_000)
      p heap.size, heap.read, heap.write(100), heap.write(1), heap.read
    RUBY
    first, second = Array.new(2) { run_program(program).first }
    assert_equal first, second
    size, sum, some, all, after = first.lines.map(&:to_i)
    assert_equal [10_000, 25, 2_500, sum], [size, some, all, after]
  end

  private

  def assert_columns(names, rows)
    rows.select(&:measured?).each { |row| assert_equal names, row.columns.keys.first(names.size) }
  end

  def run_one(name, *args)
    program = Skep::Benchmarks::Program
    program.run("#{PROGRAMS}/#{name}.rb", args:, ruby: Skep::Benchmarks::Checkout.flags)
  end
end
