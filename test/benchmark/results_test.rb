# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "json"
require "stringio"
require "tmpdir"
require_relative "../../benchmark/command"

# The results that are committed, and the tables of README and docs that show them.
class BenchmarkResultsTest < Skep::TestCase
  Benchmarks = Skep::Benchmarks
  Results, Report, Table = %i[Results Report Table].map { |part| Benchmarks.const_get(part) }
  COMMITTED = Dir.glob("#{Results::FOLDER}/*.json", base: Results::ROOT).sort
  PAGE = <<~MARKDOWN
    # Figures

    <!-- results: sample -->
    <!-- /results -->

    <!-- results: sample | b, second | a -->
    <!-- /results -->

    <!-- results: other -->
    measured by hand
    <!-- /results -->
  MARKDOWN
  private_constant :Benchmarks, :Results, :Report, :Table, :COMMITTED, :PAGE

  # Two groups; the last subject has no figure.
  class Sample < Benchmarks::Benchmark
    TITLE = "a sample"
    UNIT = "µs"
    ROUNDS = 3

    def subjects
      figures = [1.0, 2.0, 9.0].each
      subject = Benchmarks::Subject
      [subject.new("a", group: "one", settings: { threads: 2 }) { figures.next },
       subject.new("b, second", group: "one", version: "b 1.2") { { "" => 4.0, "MiB" => 80 } },
       subject.new("c", group: "two") { raise subject::Never, "never within 40 s" }]
    end

    def goals(rows) = [Benchmarks::Goal.at_most("a is fast", rows.median("a"), 1)]
  end
  private_constant :Sample

  test "the tables of README and docs show the committed results" do
    old = Results::PAGES.reject { |page| Results.tables(page) == read(Results::ROOT, page) }
    assert_empty old, "run bin/bench --table"
  end

  test "a page links to each committed result" do
    texts = Results::PAGES.map { |page| read(Results::ROOT, page) }.join
    assert_empty(COMMITTED.reject { |path| texts.include?("#{path})") })
  end

  test "each committed result is of a known commit, on a machine that did nothing else" do
    wrong = COMMITTED.reject do |path|
      result = JSON.parse(read(Results::ROOT, path))
      result.dig("versions", "skep").match?(/\A[\d.]+ \(\h{7,}\)\z/) &&
        result.fetch("busy").max <= Benchmarks::Command::QUIET && result["machine"]["memory"]
    end
    assert_empty wrong
  end

  test "a saved report has every sample, and is the same report when it is read again" do
    with_page do |root, report|
      text = read(root, Results.save(report, busy: [1.5, 0.5], root:))
      row = JSON.parse(text)["rows"].first
      assert_equal({ "threads" => 2 }, row["settings"])
      assert_equal({ "" => [1.0, 2.0, 9.0] }, row["samples"])
      assert_equal [1.5, 0.5], JSON.parse(text)["busy"]
      assert_equal Table.new(report).lines, Table.new(Report.parse(text)).lines
    end
  end

  test "a page's tables are made from the results; others are left as they are" do
    with_page do |root, report|
      path = Results.save(report, busy: [0, 0], root:)
      assert_equal ["README.md"], Results.write(root:)
      page = read(root, "README.md")
      ["- [Ruby #{RUBY_VERSION[/\d+\.\d+/]}", "](#{path}): #{report.date}, medians of 3 rounds",
       "b 1.2", "goals missed: a is fast", "| one: µs | Ruby", "| a | 2.00 (1.50–5.50) |",
       "| b, second | 4.00; MiB 80.0 |", "| c | never within 40 s |", "| µs | Ruby",
       "| b, second | 4.00 |\n| a | 2.00 (1.50–5.50) |\n",
       "measured by hand"].each { |part| assert_includes page, part }
      assert_empty Results.write(root:)
    end
  end

  test "a table is noticed as old when the results or the page change alone" do
    with_page do |root, report|
      path = File.join(root, Results.save(report, busy: [0, 0], root:))
      Results.write(root:)
      page = read(root, "README.md")
      assert_equal page, Results.tables("README.md", root:)
      File.write(path, File.read(path).sub("[1.0,2.0,9.0]", "[1.0,2.0,8.0]"))
      refute_equal page, Results.tables("README.md", root:)
      File.write("#{root}/README.md", page.sub("4.00", "5.00"))
      refute_equal read(root, "README.md"), Results.tables("README.md", root:)
    end
  end

  test "two Rubies have a column each, and a row that doesn't exist is an error" do
    with_page do |root, report|
      other = report.dup
      other.machine = { **report.machine, "ruby" => "ruby 3.9.1, YJIT on" }
      [report, other].each { |each| Results.save(each, busy: [0, 0], root:) }
      Results.write(root:)
      assert_match(/^\| µs \| Ruby \S+ \| Ruby 3\.9 with YJIT \|$/, read(root, "README.md"))
      File.write("#{root}/README.md", PAGE.sub("second | a", "third"))
      assert_raises(Benchmarks::Failed) { Results.write(root:) }
    end
  end

  test "--save refuses a busy machine and a part of a benchmark before it measures" do
    { %w[pid --save --only skep] => [64, /whole results/],
      %w[pid --save] => [1, /: other programs use 90.5%/] }.each do |argv, expected|
      code, sentence = expected
      out, err = StringIO.new, StringIO.new
      Benchmarks::Machine.stub(:busy, 90.5) do
        assert_equal code, Benchmarks::Command.start(argv, out:, err:)
      end
      assert_equal ["", 1], [out.string, err.string.lines.size]
      assert_match sentence, err.string
    end
  end

  private

  def read(root, path) = File.read(File.join(root, path), encoding: "UTF-8")

  def with_page
    Dir.mktmpdir do |root|
      Results::PAGES.each do |page|
        FileUtils.mkdir_p(File.dirname(File.join(root, page)))
        File.write(File.join(root, page), page == "README.md" ? PAGE : "")
      end
      yield root, Sample.new.run
    end
  end
end
