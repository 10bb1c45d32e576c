# frozen_string_literal: true

require "test_helper"
require "zlib"
require "skep/os"

# In child processes, as a process has one sampler.
class StackSamplerTest < Skep::TestCase
  Sampler = Skep::OS::StackSampler
  HEAD = 5
  PARTS = [*[:six_parts] * 6, *[:three_parts] * 3, :one_part].freeze
  private_constant :Sampler, :HEAD, :PARTS

  def setup
    super
    @taken = []
    skip "the fallback takes no samples" unless Skep::OS.native?
  end

  test "samples come by the CPU time that methods use, with method, file and line" do
    rows = sampled do
      # In no order: a fixed one could keep step with the kernel's clock.
      until_cpu(2.0, samples: 200) { send(PARTS.sample) }
    end
    counts = rows.map { |row| row[:frames].dig(0, 0).to_s[/\w+_parts?\z/] }.compact.tally
    shares = counts.transform_values { |count| 100.0 * count / counts.each_value.sum }
    assert_in_delta 60, shares["six_parts"], 18
    assert_in_delta 30, shares["three_parts"], 18
    assert_in_delta 10, shares["one_part"], 10
    hot = rows.find { |row| row[:frames].dig(0, 0)&.end_with?("six_parts") }
    assert_equal [__FILE__, method(:six_parts).source_location.last], hot[:frames][0].last(2)
    yjit = defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? # keeps no line of the innermost method
    assert_equal hot[:frames][0].last + 1, hot[:line] unless yjit
  end

  test "a sample has the label and the number of its thread, also without the GVL" do
    rows = sampled do
      thread = Thread.new do
        Sampler.label = 7
        text = "ab" * 500_000
        until_cpu(0.3) { Zlib.deflate(text) }
      end
      thread.join
    end
    zipped = rows.select { |row| row[:label] == 7 && row[:kind] == Sampler::RUBY }
    assert_operator zipped.size, :>, 5
    assert_equal 1, zipped.map { |row| row[:tid] }.uniq.size
    names = zipped.map { |row| row[:frames].dig(0, 0) }.tally
    assert_match(/deflate/, names.max_by(&:last).first)
  end

  test "a garbage collection has a kind of its own, and no frames" do
    kinds = sampled { until_cpu(0.3) { GC.start } }.group_by { |row| row[:kind] }
    collections = kinds.fetch(Sampler::GC)
    assert_operator collections.size, :>, kinds.fetch(Sampler::RUBY, []).size
    assert_empty collections.flat_map { |row| row[:frames] }
  end

  test "samples survive a compaction, and frames of methods that are gone" do
    rows = sampled do
      6.times do |number|
        gone = Class.new { class_eval("def work#{number}; i = 0; i += 1 while i < 500_000; end") }
        gone.new.public_send("work#{number}")
        GC.respond_to?(:compact) ? GC.compact : GC.start
        @taken.concat(Sampler.take) # all six may take longer than the ring lasts
      end
    end
    assert(rows.any? { |row| row[:frames].any? { |name,| name&.match?(/work\d/) } })
  end

  test "a process that is idle takes no samples" do
    rows = sampled { IO.select(nil, nil, nil, 0.3) }
    assert_empty(rows.reject { |row| row[:kind] == Sampler::GC }.drop(2)) # one may be due
  end

  test "start is refused while the signal is another's, and possible again after a stop" do
    results = in_child_of do
      trap("PROF") { nil }
      refused = Sampler.start(5_000)
      trap("PROF", "DEFAULT")
      [refused, *Array.new(2) { Sampler.start(5_000).tap { Sampler.stop } }]
    end
    assert_equal [false, true, true], results
  end

  test "a signal that comes after the stop is without effect" do
    assert_equal [], in_child_of {
      Sampler.start(5_000)
      Sampler.stop
      Sampler.take
      Process.kill(:PROF, Process.pid)
      Sampler.take
    }
  end

  test "times are those of the kernel's count" do
    before = Sampler.times(Process.pid)
    until_cpu(0.2) { six_parts }
    after = Sampler.times(Process.pid)
    assert_operator after.first - before.first, :>, 0.1
    assert_nil Sampler.times(2**22)
  end

  test "a process that ends while it is sampled ends well" do # Ruby frees its heap meanwhile
    ends = Array.new(4) do
      pid = fork do
        heap = Array.new(400_000) { |number| "string number #{number} " * 3 }
        Sampler.start(1_000) || abort("no sampler")
        exit(heap.size == 400_000) # not that of Minitest: its end procs are at_exit blocks
      end
      Process.wait2(pid).last
    end
    assert_equal [true], ends.map(&:success?).uniq, ends
  end

  private

  def six_parts
    i = 0; i += 1 while i < 20_000 # rubocop:disable Style/Semicolon -- one line
  end

  def three_parts
    i = 0
    i += 1 while i < 20_000
  end

  def one_part
    i = 0
    i += 1 while i < 20_000
  end

  # Goes on until so many samples have been taken: a kernel may look at such timers only 100 times a
  # second, or less often.
  def until_cpu(seconds, samples: 0)
    clock = Process::CLOCK_THREAD_CPUTIME_ID
    ends = Process.clock_gettime(clock) + seconds
    yield while Process.clock_gettime(clock) < ends || @taken.size < samples
  end

  # Runs the block in a child; returns what it returned.
  def in_child_of
    pid, reader = in_child { |writer| writer.write(Marshal.dump(yield)) }
    Marshal.load(reader.read) # rubocop:disable Security/MarshalLoad -- our own child's
  ensure
    Process.wait(pid)
  end

  # Returns the samples that a child has taken while it ran the block.
  def sampled
    in_child_of do
      raise "no sampler" unless Sampler.start(5_000)

      taker = Thread.new { loop { sleep_and_take } }
      yield
      Sampler.stop
      taker.kill.join
      @taken.concat(Sampler.take)
      raise "lost" unless Sampler.lost.zero?

      @taken.map { |sample| row(*sample.unpack("L*")) }
    end
  end

  def sleep_and_take
    IO.select(nil, nil, nil, 0.1)
    @taken.concat(Sampler.take)
  end

  def row(tid, label, kind, line, _line_of, *frames)
    { tid:, label:, kind:, line:, frames: frames.map { |number| Sampler.frame(number) } }
  end
end
