# frozen_string_literal: true

require "test_helper"
require "skep/os"

class HugePagesTest < Skep::TestCase
  HugePages = Skep::OS::Memory::HugePages
  private_constant :HugePages

  test "the report has the reason why nothing was done" do
    skip "huge pages are supported here" if HugePages.supported?
    report = HugePages.collapse
    assert_equal [0, 0], [report.pages, report.bytes]
    assert_match(/huge pages need/, report.skipped)
  end

  test "collapse keeps the heap's content and the settings, and hardly adds memory" do
    skip "it needs the C extension and Linux 6.1" unless HugePages.supported?
    skip "the sanitizer forbids huge pages in its heap" if ENV["LD_PRELOAD"]&.include?("asan")
    pid, reader = in_child do |writer|
      settings = thp
      heap = Array.new(500_000) { |n| "number #{n}, too long to be embedded" }
      before = Skep::OS::Memory.of.rss
      report = HugePages.collapse
      writer.puts report.bytes, report.pages * HugePages::SIZE, Skep::OS::Memory.of.rss - before
      writer.puts heap.each_with_index.all? { |text, n| text.start_with?("number #{n},") }
      writer.puts thp == settings
    end
    bytes, pages, growth, whole, same = wait_readable(reader, 60).read.split
    assert_operator bytes.to_i, :>, 16 << 20
    assert_equal bytes, pages
    assert_operator growth.to_i, :<, bytes.to_i / 2
    assert_equal %w[true true], [whole, same]
    Process.wait(pid)
  end

  private

  def thp = File.read("/proc/self/status")[/^THP_enabled:.*/]
end
