# frozen_string_literal: true

require "test_helper"
require "skep/os"

# Each test runs a program of its own, because the slab stays installed.
class HeapPageSlabTest < Skep::TestCase
  BUILD = <<~RUBY
    def build(count) = Array.new(count) { |n| ["text \#{n}", n.to_s * 3] }
    def pages = GC.stat(:heap_allocated_pages)
    HeapPageSlab = Skep::Reshare::HeapPageSlab
  RUBY
  private_constant :BUILD

  test "isn't installed without skep/reshare" do
    assert_equal "false 0 0", program(<<~RUBY, first: "skep/reshare/heap_page_slab")
      print HeapPageSlab.installed?, " ", HeapPageSlab.records, " ", HeapPageSlab.share && HeapPageSlab.shared_bytes
    RUBY
  end

  test "share returns the reason why not, on the fallback" do
    reason = program("print HeapPageSlab.share", env: { "SKEP_PURE" => "1" })
    assert_equal "it needs the C extension", reason
  end

  test "is installed whatever objects were made before" do
    native
    assert_equal "[nil]", program(<<~RUBY, first: "skep/reshare/heap_page_slab")
      reasons = Array.new(40) do |n|
        reader, writer = IO.pipe
        pid = fork do
          kept = Array.new(n * 500) { |m| [m, {}, Object.new, "text \#{m}", "a" * 70][m % 5] }
          writer.puts(HeapPageSlab.install)
          kept.clear
        end
        writer.close
        Process.wait(pid)
        reader.read.chomp.then { |reason| reason unless reason.empty? }
      end
      print reasons.uniq
    RUBY
  end

  test "has the records of all heap pages that Ruby allocates from then on" do
    native
    assert_equal "true true", program(<<~RUBY)
      GC.disable # it would free pages from before, too
      before, had = pages, HeapPageSlab.records
      kept = build(100_000)
      print kept.size == 100_000 && pages > before + 100, " ", HeapPageSlab.records - had == pages - before
    RUBY
  end

  test "reuses the records of heap pages that Ruby frees" do
    native
    assert_equal "true true", program(<<~RUBY)
      record = HeapPageSlab.bytes / HeapPageSlab.records
      before, most, rounds = GC.stat(:total_freed_pages), 0, 0
      until (freed = GC.stat(:total_freed_pages) - before) > most || rounds == 100
        rounds += 1
        records = Thread.new { build(100_000) && HeapPageSlab.records }.value # no stack keeps them
        most = [most, records].max
        GC.start
      end
      print freed > most, " ", HeapPageSlab.bytes < most * record * 1.5
    RUBY
  end

  test "a collection in a child shares the pages again that it left unchanged" do
    native
    assert_equal "nil true true true", program(<<~RUBY)
      kept = build(200_000)
      4.times { GC.start }
      print HeapPageSlab.share.inspect, " "
      Process.wait(fork do
        GC.start
        GC.verify_internal_consistency
        mapping = File.read("/proc/self/smaps")[/^\\S+ rw-p.*skep slab.*?^VmFlags/m]
        print HeapPageSlab.given_back > 50, " "
        print Integer(mapping[/Private_Dirty: +(\\d+)/, 1]) * 1024 < HeapPageSlab.shared_bytes / 10, " "
        print kept.each_with_index.all? { |(text, _), n| text == "text \#{n}" }
      end)
    RUBY
  end

  test "shares pages again in a child that can't read its own page map, too" do
    native
    assert_equal "true", program(<<~RUBY)
      require "fiddle"
      kept = build(200_000)
      4.times { GC.start }
      HeapPageSlab.share
      Process.wait(fork do
        no_dump = [4, 0] # PR_SET_DUMPABLE, as a change of user leaves it
        Fiddle::Function.new(Fiddle.dlopen(nil)["prctl"], [Fiddle::TYPE_INT] * 2, 0).call(*no_dump)
        Process::UID.change_privilege(65_534) if Process.uid.zero?
        GC.start
        print HeapPageSlab.given_back > 50 && kept.size == 200_000
      end)
    RUBY
  end

  test "share may be called again, and children forked before keep working" do
    native
    assert_equal "true true", program(<<~RUBY)
      kept = build(100_000)
      2.times do
        HeapPageSlab.share
        reader, writer = IO.pipe
        pid = fork { writer.close && reader.read && GC.start && GC.verify_internal_consistency }
        reader.close
        kept << build(50_000)
        GC.start
        HeapPageSlab.share
        writer.close
        print Process.wait2(pid).last.success?, " "
      end
    RUBY
  end

  test "install refuses a heap whose pages were allocated beforehand" do
    native
    skip "only Ruby 3.1 allocates heap pages beforehand" if RUBY_VERSION >= "3.2"
    slots = { "RUBY_GC_HEAP_INIT_SLOTS" => "1000000" }
    reason = program("print HeapPageSlab.install", env: slots,
                                                 warnings: /\ARUBY_GC_HEAP_INIT_SLOTS.*\n\z/)
    assert_match(/given its pages beforehand/, reason)
  end

  test "share refuses while there are Ractors" do
    native
    assert_match(/there (?:are|was a) Ractor/, program(<<~RUBY, warnings: /Ractor is experimental/))
      ractor = Ractor.new { Ractor.receive }
      print HeapPageSlab.share
      ractor.send(nil)
    RUBY
  end

  private

  def native
    skip "it needs the C extension" unless Skep::OS.native?
    skip "the sanitizer has its own malloc" if ENV["LD_PRELOAD"]&.include?("asan")
  end

  def program(source, first: "skep/reshare", warnings: /\A\z/, env: {})
    out, err, status = run_program("require '#{first}'\n#{BUILD}#{source}", env:)
    assert_match warnings, err
    assert_predicate status, :success?, err
    out.strip
  end
end
