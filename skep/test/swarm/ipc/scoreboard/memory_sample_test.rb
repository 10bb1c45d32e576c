# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class MemorySampleTest < Skep::TestCase
  MemorySample = Skep::Swarm::IPC::Scoreboard::MemorySample
  private_constant :MemorySample

  test "counts the pages of this process" do
    sample = MemorySample.of_self
    assert_equal MemorySample::BYTES, sample.keys
    assert_operator sample["uss"], :<=, sample["pss"]
    assert_operator sample["anonymous"], :<, sample["rss"]
  end

  test "finds a sample on the page, and ignores invalid content there" do
    page = Skep::OS::SharedPage.create(1)
    assert_nil MemorySample.find(page, 0)
    sample = MemorySample.of_self
    MemorySample.leave(page, 0, 12.5, sample)
    assert_equal [12.5, sample], MemorySample.find(page, 0)
    MemorySample.leave(page, 0, 12.5, {}) # it couldn't count its pages
    assert_equal [12.5, {}], MemorySample.find(page, 0)
    invalid = [Float::NAN, Float::INFINITY, Skep::OS.now + 60, -1.0].map { |at| [at, *1..6] }
    invalid = [[1.0, 2, 3], [1.0, *1..7], *invalid].map { |words| words.pack("DQ*") }
    ["", "garbage", *invalid].each do |text|
      page.write(0, text)
      assert_nil MemorySample.find(page, 0), text
    end
    page.write(0, [12.5, *[2**64 - 1] * 6].pack("DQ*"))
    assert_equal [2**53], MemorySample.find(page, 0).last.values.uniq
  ensure
    page.close
  end

  test "a process without a free descriptor has an empty sample" do
    pid, reader = in_child do |writer|
      Process.setrlimit(:NOFILE, 0)
      writer.write(MemorySample.of_self.inspect)
    end
    assert_equal "{}", wait_readable(reader).read
    Process.wait(pid)
  end

  test "a process that may not read its own files has an empty sample" do
    pid, reader = in_child do |writer|
      Skep::OS::Memory.singleton_class.prepend(Module.new do
        def of = raise(Errno::EACCES)
      end)
      writer.write(MemorySample.of_self.inspect)
    end
    assert_equal "{}", wait_readable(reader).read
    Process.wait(pid)
  end
end
