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
    assert_equal sample, MemorySample.read(sample)
  end

  test "finds a sample on the page, and ignores invalid content there" do
    page = Skep::OS::SharedPage.create(1)
    assert_nil MemorySample.find(page, 0)
    sample = MemorySample.of_self
    MemorySample.leave(page, 0, 12.5, sample)
    assert_equal [12.5, sample], MemorySample.find(page, 0)
    ["", "{", "[]", "7", '[1,{"rss":2}]', "[null,#{sample.to_json}]"].each do |text|
      page.write(0, text)
      assert_nil MemorySample.find(page, 0), text
    end
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

  test "reads only numbers, and clamps them to their bounds" do
    sample = MemorySample.of_self
    assert_raises(KeyError) { MemorySample.read({}) }
    assert_raises(ArgumentError) { MemorySample.read({ **sample, "uss" => "much" }) }
    assert_raises(TypeError) { MemorySample.read({ **sample, "uss" => nil }) }
    read = MemorySample.read({ **sample, "uss" => -5, "rss" => 1 << 60 })
    assert_equal [0, 1 << 53], read.values_at("uss", "rss")
  end
end
