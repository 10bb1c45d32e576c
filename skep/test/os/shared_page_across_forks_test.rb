# frozen_string_literal: true

require "test_helper"
require "skep/os"

# One page in several processes.
class SharedPageAcrossForksTest < Skep::TestCase
  def setup
    @page = Skep::OS::SharedPage.create(2)
  end

  def teardown
    @page.close
  end

  test "is written by a forked child and read by its parent" do
    pid, = in_child do
      @page.beat(0)
      @page.write(0, "orders/0 42")
      @page.set(0, 2, 7)
    end
    Process.wait(pid)
    assert_equal ["orders/0 42", 7], [@page.read(0), @page.get(0, 2)]
    assert_in_delta Skep::OS.now, @page.beat_at(0), 10
  end

  # (A reader gives up, with nil, after meeting a running writer again and again.)
  test "read never returns a torn blob, with a running or a killed writer" do
    blobs = ("a".."z").map { |letter| letter * 438 }
    found = (0...40).flat_map do |round|
      pid, reader = in_child { |writer| write_for_ever(writer, blobs) }
      wait_readable(reader).getc
      some = Array.new(round % 20) { @page.read(0) }
      Process.kill(:KILL, pid)
      Process.wait(pid)
      reader.close
      assert_includes blobs, @page.read(0), "after the writer's end"
      some
    end
    assert_empty found.compact.uniq - blobs
    assert_predicate found.compact, :any?
  end

  test "add is atomic between processes, in C" do
    skip "the fallback supports one writer a word" unless Skep::OS::SharedPage.native?
    pids = Array.new(3) { in_child { 10_000.times { @page.add(1, 2, 1) } }.first }
    pids.each { |pid| Process.wait(pid) }
    assert_equal 30_000, @page.get(1, 2)
  end

  { "C" => nil, "fallback" => "1" }.each do |name, pure|
    test "another program reads and writes the page, with the #{name}" do
      @page.write(0, "from here")
      @page.beat(0)
      source = [Process.pid, @page.to_io.fileno]
      out, err, = run_program(<<~RUBY, source, env: { "SKEP_PURE" => pure })
        require "skep/os"
        page = Skep::OS::SharedPage.open(File.open("/proc/\#{ARGV[0]}/fd/\#{ARGV[1]}", "r+"), 2)
        page.add(1, 2, page.read(0).bytesize)
        2.times { |n| page.write(1, "from there \#{n}") }
        page.beat(1)
        puts Skep::OS.now - page.beat_at(0) < 30, page.beat_at(1) > page.beat_at(0)
      RUBY
      assert_equal ["", "true\ntrue\n"], [err, out]
      assert_equal ["from there 1", 9, 2], [@page.read(1), @page.get(1, 2), @page.get(1, 0)]
      assert_operator @page.beat_at(1), :>, @page.beat_at(0)
    end
  end

  private

  # Writes until it is killed, or until the pipe has no reader.
  def write_for_ever(writer, blobs)
    @page.write(0, blobs.first)
    loop do
      writer.write_nonblock(".", exception: false)
      100.times { blobs.each { |blob| @page.write(0, blob) } }
    end
  end
end
