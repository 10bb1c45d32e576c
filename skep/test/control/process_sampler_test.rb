# frozen_string_literal: true

require "test_helper"
require "skep/control"

# Processor time and rate of work, which need two samples.
class ProcessSamplerTest < Skep::TestCase
  def setup = @sampler = Skep::Control::ProcessSampler.new

  test "the rate of a node that only counts is measured over the last seconds" do
    rates = [[0.0, 0], [2.0, 10], [4.0, 30], [30.0, 30], [31.0, 5], [33.0, 9]].map do |now, done|
      rate(now, { "done" => done })
    end
    assert_equal [nil, 5.0, 7.5, 0.0, nil, 2.0], rates
  end

  test "a rate that a node reports is returned as it is; a node that counts nothing has none" do
    assert_equal 3.5, rate(0.0, { "rate" => 3.5, "done" => 1 })
    assert_equal [nil, nil], [1.0, 2.0].map { |now| rate(now, { "done" => 0 }, pid: 9) }
    assert_nil rate(3.0, { "done" => "x", "rate" => [] })
  end

  test "the processor time of a process is known once it was seen twice" do
    assert_empty cpu(1.0, { 0 => Process.pid, 1 => nil, 2 => (2**22) + 1 })
    start = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < start + 0.05
    assert_operator cpu(2.0, { 0 => Process.pid }).fetch(0), :>=, 0.03
    assert_empty cpu(3.0, { 0 => Process.ppid })
  end

  test "pids of another container are not looked up" do
    status = { "nodes" => [{ "id" => 0, "pid" => Process.pid, "work" => {} }] }
    2.times { |now| assert_empty @sampler.sample(status, now.to_f, pids: false).cpu }
  end

  private

  def rate(now, work, pid: 1)
    status = { "nodes" => [{ "id" => 0, "pid" => pid, "work" => work }] }
    @sampler.sample(status, now, pids: false).rates[0]
  end

  def cpu(now, pids)
    nodes = pids.map { |id, pid| { "id" => id, "pid" => pid, "work" => {} } }
    @sampler.sample({ "nodes" => nodes }, now, pids: true).cpu
  end
end
