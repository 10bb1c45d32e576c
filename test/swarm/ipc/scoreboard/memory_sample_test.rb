# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class MemorySampleTest < Skep::TestCase
  MemorySample = Skep::Swarm::IPC::Scoreboard::MemorySample
  private_constant :MemorySample

  test "counts the pages of this process, and the seconds that the count took" do
    plain = MemorySample.of_self
    assert_equal MemorySample::BYTES + ["seconds"], plain.keys
    assert_operator plain["uss"], :<=, plain["pss"]
    assert_operator plain["anonymous"], :<, plain["rss"]
    assert_operator plain["seconds"], :>, 0
    assert_equal plain, MemorySample.read(plain)
  end

  test "writes a sample to the page, and ignores invalid content there" do
    page = Skep::OS::SharedPage.create(1)
    assert_nil MemorySample.find(page, 0)
    before = Skep::OS.now
    MemorySample.leave(page, 0)
    at, plain = MemorySample.find(page, 0)
    assert_in_delta before, at, 10.0
    assert_operator plain["rss"], :>, 0
    ["", "{", "[]", "7", '[1,{"rss":2}]', "[null,#{plain.to_json}]"].each do |text|
      page.write(0, text)
      assert_nil MemorySample.find(page, 0), text
    end
  ensure
    page.close
  end

  test "writes an empty sample if the process has no free descriptor" do
    page = Skep::OS::SharedPage.create(1)
    pid, reader = in_child do |writer|
      Process.setrlimit(:NOFILE, 0)
      MemorySample.leave(page, 0)
      writer.write("left")
    end
    assert_equal "left", wait_readable(reader).read
    Process.wait(pid)
    assert_equal({}, MemorySample.find(page, 0).last)
  ensure
    page.close
  end

  test "reads only numbers, and clamps them to their bounds" do
    plain = MemorySample.of_self
    assert_raises(KeyError) { MemorySample.read({}) }
    assert_raises(ArgumentError) { MemorySample.read({ **plain, "uss" => "much" }) }
    assert_raises(TypeError) { MemorySample.read({ **plain, "seconds" => nil }) }
    read = MemorySample.read({ **plain, "uss" => -5, "seconds" => 1e9 })
    assert_equal [0, 60.0], read.values_at("uss", "seconds")
  end
end
