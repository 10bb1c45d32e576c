# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# In child processes, as a process has one sampler.
class NodeProfilerTest < Skep::TestCase
  Profiling = Skep::Swarm::Profiling
  SECONDS = 3.0
  private_constant :Profiling, :SECONDS

  test "CPU time, threads that wait and labels are told apart" do
    queue = waits = nil
    begin_thread = lambda do # a thread that begins later counts from its second reading on
      queue = Queue.new
      waits = Thread.new { queue.pop }
    end
    part = profile(before: begin_thread) do |over|
      waits.name = "waits" # its first reading saw it without a name
      label = Profiling::Label.number({ "topic" => "orders" })
      Profiling::Label.with(label) { hot until over.call }
      queue.push(nil)
      waits.join
    end
    assert_operator part["seconds"], :>=, SECONDS
    cpu = seconds(part, "cpu")
    assert_in_delta part["cpu"], cpu.values.sum, part["sampler"] ? 0.05 : 0.3
    thread, name, topic = cpu.max_by(&:last).first
    assert_equal %w[main orders], [thread, topic]
    assert_match(/\bhot\z/, name)
    waiting = seconds(part, "wait").sum { |key, time| key.first == "waits" ? time : 0 }
    assert_operator waiting, :>, 0.5
    assert_operator waiting, :<=, part["seconds"] + 0.001 # it is rounded
    assert_equal 0, part["dropped_stacks"]
    assert_equal Skep::OS.native?, part["sampler"]
  end

  test "of two threads that compute, one waits for the GVL" do
    over = threads = nil
    begin_threads = -> { threads = Array.new(2) { Thread.new { hot until over&.call } } }
    part = profile(before: begin_threads) do |is_over|
      over = is_over
      threads.each(&:join)
    end
    sums = part["stacks"].group_by(&:first).transform_values { |same| same.sum(&:last) }
    assert_operator sums["gvl"].to_f, :>, 0.5
    # The main thread waits for it, too, until it joins them.
    assert_operator sums["gvl"], :<=, part["seconds"] * 1.2
  end

  test "without the sampler CPU time goes to the stacks that were read" do
    part = profile(before: -> { trap("PROF") { nil } }) { |over| hot until over.call }
    refute part["sampler"]
    assert_equal 0, part["samples"]
    assert_match(/\bhot\z/, seconds(part, "cpu").max_by(&:last).first[1])
  end

  test "readings of many threads take only a small part of the CPU" do
    part = profile do |over|
      threads = Array.new(100) { Thread.new { IO.select(nil, nil, nil, 0.5) until over.call } }
      threads.each(&:join)
    end
    reading = seconds(part, "cpu").sum { |key, time| key.first == "control" ? time : 0 }
    assert_operator reading, :<, 0.05 * SECONDS
  end

  test "distinct stacks beyond the most count without a method, and take no memory" do
    most = Profiling::NodeProfiler.const_get(:MOST)
    profiler = Profiling::NodeProfiler.new(0.0)
    sampler = Skep::OS::StackSampler
    taken = Array.new(most + 300) { |number| [1, 0, sampler::RUBY, number, 0].pack("L*") }
    sampler.stub(:take, taken) do
      profiler.start
      profiler.tick
    end
    part = profiler.result(100_000)
    assert_equal most + 300, part["samples"]
    shown = part["stacks"].sum { |stack| stack.first == "cpu" ? stack.last : 0 }
    assert_in_delta part["cpu"], shown + part["dropped"]["cpu"], 0.3
    assert_operator part["dropped"]["cpu"], :>=, part["cpu"] * 300 / (most + 300) * 0.9
  end

  private

  def hot
    i = 0
    i += 1 while i < 20_000
  end

  # Runs the block in a child that profiles itself; returns the profile.
  def profile(before: -> {})
    pid, reader = in_child do |writer|
      before.call
      profiler = Profiling::NodeProfiler.new(SECONDS).start
      control = Thread.new { drive(profiler) }
      control.name = "control"
      yield profiler.method(:over?)
      control.join
      writer.write(JSON.generate(profiler.result(100_000)))
    end
    JSON.parse(reader.read)
  ensure
    Process.wait(pid)
  end

  def drive(profiler)
    until profiler.over?
      IO.select(nil, nil, nil, [profiler.due - Skep::OS.now, 0].max)
      profiler.tick
    end
  end

  # Returns seconds by thread, innermost frame (hot for what that calls) and topic.
  def seconds(part, state)
    threads, labels, frames = part.values_at("threads", "labels", "frames")
    stacks = part["stacks"].select { |stack| stack.first == state }
    stacks.each_with_object(Hash.new(0.0)) do |(_, thread, label, _, numbers, time), sums|
      names = numbers.map { |number| frames[number][0] }
      name = names.grep(/\bhot\z/).first || names.first
      sums[[threads[thread], name, labels[label]["topic"]]] += time
    end
  end
end
