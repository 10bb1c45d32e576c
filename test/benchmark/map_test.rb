# frozen_string_literal: true

require "test_helper"
require_relative "../../benchmark/command"
require_relative "../../benchmark/map"

class MapBenchmarkTest < Skep::TestCase
  BENCHMARK = File.expand_path("../../benchmark", __dir__)
  SIZES = { integers: 100, strings: 10, waits: 4, megabytes: 1, fibs: 4, heap: 1_000 }.freeze
  FOLDER = File.expand_path("../../benchmark/map", __dir__)
  private_constant :BENCHMARK, :SIZES, :FOLDER

  test "measures each way to map each kind of items or skips it, and has the goals" do
    report = Skep::Benchmarks::Map.new(rounds: 1, **SIZES).run
    assert_empty report.rows.map(&:skipped).grep(/failed/)
    report.rows.each { |row| assert row.measured? ^ row.skipped, row.name }
    assert_equal 6, report.rows.groups.size
    assert_equal %w[map parallel Skep.map], ways(report.rows, "waits")
    more = ["one fork, exit! and wait", "Skep.map after Skep.warmup"]
    assert_equal [*%w[map parallel Skep.map], *more], ways(report.rows, "heap")
    assert_operator report.rows["heap: Skep.map"].columns["RSS MiB"].median, :>, 1 if linux?
    assert_equal [0.5, 25, 1.05, 1.05, 1.05, 4], report.goals.map(&:limit)
    weighed = Skep::Benchmarks::Peer.find("parallel") ? 6 : 1
    assert_equal weighed, report.goals.count { |goal| !goal.met?.nil? }
  end

  test "skips the ways of a gem that isn't installed" do
    out, = run_program(<<~RUBY)
      require "#{BENCHMARK}/command"
      require "#{BENCHMARK}/map"
      Skep::Benchmarks::Peer.define_singleton_method(:find) { |_name| nil }
      puts Skep::Benchmarks::Map.new.subjects.filter_map(&:skipped)
    RUBY
    assert_equal 6, out.scan(/the gem parallel isn't in reach/).size
  end

  test "detects a wrong result" do
    assert_equal "true false false", kinds(<<~RUBY)
      kind = Kinds.load("integers", 3)
      print [[1, 2, 3], [1, 3, 2], [1, 2]].map { |results| kind.right?(results) }.join(" ")
    RUBY
  end

  test "its kinds of work wait, calculate, and return a megabyte" do
    assert_equal "1 6765 1000000 1000", kinds(<<~RUBY)
      def one(name) = Kinds.load(name, 1).then { |kind| kind.work.call(kind.items.first) }
      print one("waits"), " ", one("fibs"), " ", one("megabytes").size, " ", one("strings").size
    RUBY
  end

  private

  def linux? = File.exist?("/proc/self")

  def ways(rows, kind)
    rows.map(&:name).filter_map { |name| name.delete_prefix("#{kind}: ") if name.start_with?(kind) }
  end

  def kinds(program)
    out, err, = run_program(%(require "#{FOLDER}/kinds"\n#{program}))
    assert_empty err
    out
  end
end
