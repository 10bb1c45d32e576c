# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "tmpdir"
require "skep/fork"

class WarmupTest < Skep::TestCase
  test "the report has for each step what it did or why it didn't" do
    report = Skep.warmup
    assert_includes report.steps.map(&:name), :huge_pages
    assert_equal report.steps.map { |step| step.name.to_s }, report.to_plain.keys
    report.steps.each do |step|
      assert_equal 1, [step.skipped, step.note].compact.size, step.to_s
      assert_operator step.seconds, :>=, 0
    end
    assert_operator report.seconds, :>=, report.steps.sum(&:seconds)
    assert_predicate report, :frozen?
  end

  test "the report has the memory before and after" do
    report = Skep.warmup(huge_pages: false)
    assert_operator report.bytes_before, :>, 1_000_000
    assert_operator report.bytes_after, :>, 1_000_000
  end

  test "has no huge pages with huge_pages: false" do
    refute_includes Skep.warmup(huge_pages: false).steps.map(&:name), :huge_pages
  end

  test "scans every string, so that a child doesn't write to it at the first use" do
    done = Skep.warmup.to_plain
    assert_match(/\A\d+ strings looked through\z/, done["strings"]) unless done["ruby"]
  end

  test "ignores a library whose path isn't valid in this locale" do
    Dir.mktmpdir do |folder|
      copy = "#{folder}/caf\u00e9".tap { |path| Dir.mkdir(path) }
      FileUtils.cp("#{RbConfig::CONFIG["rubyarchdir"]}/strscan.so", copy)
      library = "Dir['#{folder}/*/strscan.so'].first"
      source = "require 'skep/fork'; require #{library}; Skep.warmup; print 1"
      out, err, = run_program(source, env: { "LC_ALL" => "C" })
      assert_equal ["1", ""], [out, err]
    end
  end

  test "calls no method that the application has overridden" do
    hostile = Class.new(String) { def ascii_only? = raise("not this one") }
    strings = [hostile.new("a"), *Encoding.list.map { |it| "\xFEab".dup.force_encoding(it) }]
    refute_empty Skep.warmup.steps, strings.size
  end

  test "runs Ruby's own warmup only without huge pages" do
    skip "this Ruby has no warmup" unless Process.respond_to?(:warmup)
    assert_equal({ "ruby" => "Process.warmup" }, Skep.warmup(huge_pages: false).to_plain)
    skip "there are no huge pages here" unless Skep::OS::Memory::HugePages.supported?
    refute_includes Skep.warmup.to_plain, "ruby"
  end

  test "skips huge pages on the fallback" do
    out, err, = run_program("require 'skep/fork'; puts Skep.warmup", env: { "SKEP_PURE" => "1" })
    assert_match(/^  huge_pages .* skipped: /, out)
    assert_equal "", err
  end

  test "makes young objects old, so that a child's minor collections don't write to them" do
    out, = run_program(<<~RUBY)
      require "skep/fork"
      GC.disable
      young = Array.new(50_000) { |number| [number] }
      before = GC.stat(:old_objects)
      Skep.warmup(huge_pages: false)
      puts GC.stat(:old_objects) - before > young.size
    RUBY
    assert_equal "true\n", out
  end

  test "to_s is a table" do
    report = Skep.warmup(huge_pages: false)
    text = report.to_s
    assert_match(/\Awarmed up in \d+\.\d\d s, resident memory \S+ MB before, \S+ MB after$/, text)
    assert_equal 1 + report.steps.size, text.lines.size
  end

  test "to_s has unknown for memory that can't be measured" do
    facts = { seconds: 1.0, bytes_before: nil, bytes_after: nil, steps: [] }
    assert_equal "warmed up in 1.00 s, resident memory unknown before, unknown after",
                 Skep::Fork::Warmup::Report.new(**facts).to_s
  end
end
