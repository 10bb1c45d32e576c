# frozen_string_literal: true

require "test_helper"
require "skep/guest"

class JobRunnerTest < Skep::TestCase
  Scoreboard = Skep::Swarm::IPC::Scoreboard
  private_constant :Scoreboard

  def setup
    super
    @layout = Scoreboard::Layout.new(nodes: 1, threads: 2)
    @page = Skep::OS::SharedPage.create(@layout.total)
    @reported, @aside = [], []
  end

  def teardown
    @node&.leave
    @page.close
    super
  end

  test "a job is in flight while it runs, and counted when it is over" do
    during = runner.run("Note 1", 60, aside) { in_flight }
    assert_equal [["Note 1", nil]], during
    assert_empty in_flight
    assert_equal 1, @layout.all(0).sum { |cell| @page.get(cell, Scoreboard::Layout::DONE) }
  end

  test "a job waits until the node is ready" do
    jobs = runner(begun: false)
    early = Thread.new { jobs.run("Note 1", 60, aside) { :done } }
    await_sleep(early)
    assert_empty in_flight
    jobs.begin_work
    assert_equal :done, early.join(20)&.value
  end

  test "a job that the boot itself runs doesn't wait for the end of the boot" do
    boot = Thread.new { runner(begun: false).run("Note 1", 60, aside) { :done } }
    assert_equal :done, boot.join(20)&.value
  end

  test "a job that raises isn't in flight any more, and its thread is free" do
    jobs = runner
    3.times do
      assert_raises(KeyError) { jobs.run("Note 1", 60, aside) { raise KeyError } }
    end
    assert_empty in_flight
    refute_predicate jobs, :working?
  end

  PROGRAM = <<~RUBY
    require "skep/guest"
    layout = Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 1)
    page = Skep::OS::SharedPage.create(layout.total)
    node = Skep::Swarm::Node.new(id: 0, swarm: "a", mold: 0, page:, layout:, report: ->(*) {})
    jobs = Skep::Guest::JobRunner.new(node, threads: 1)
    jobs.begin_work
    begun = Queue.new
    thread = Thread.new { jobs.run("Note 1", 60, nil) { begun << true and %s } }
    begun.pop
  RUBY
  private_constant :PROGRAM

  test "a job that ends its own thread ends the process, which says so" do
    _, errors, status = run_program(format(PROGRAM, "Thread.exit") << "thread.join")
    assert_match(/Note 1 has ended its own thread, .*so its process ends/, errors)
    assert_equal Signal.list["ABRT"], status.termsig
  end

  test "a job that is in progress when its process exits has not ended its own thread" do
    output, errors, status = run_program(format(PROGRAM, "sleep"))
    assert_equal ["", "", 0], [output, errors, status.exitstatus]
  end

  test "a job within a job runs as a part of it" do
    jobs = runner
    jobs.run("Note 1", 60, aside) do
      jobs.run("Note 2", 60, aside) { assert_equal [["Note 1", nil]], in_flight }
    end
  end

  test "a job within a job in another fiber, or thread, runs as a part of it, alone, too" do
    jobs = runner(suspect("Note 1", alone: 0))
    starts = [->(&work) { Fiber.new(&work).resume }]
    starts << ->(&work) { Thread.new(&work).join(20) || flunk("it waits for ever") } if inherits?
    starts.each do |start|
      jobs.run("Note 1", 60, aside) do
        start.call { jobs.run("Note 2", 60, aside) { assert_equal [["Note 1", nil]], in_flight } }
      end
    end
  end

  test "a job in a thread that an earlier job has left behind is a job of its own" do
    jobs = runner
    orders, done = Queue.new, Queue.new
    thread = jobs.run("Note 1", 60, aside) do
      Thread.new { done << jobs.run(orders.pop, 60, aside) { in_flight } }
    end
    orders << "Note 2"
    assert_equal [["Note 2", nil]], done.pop
    assert thread.join(20)
  end

  test "jobs run at the same time, unless one was in flight when a process crashed" do
    jobs = runner(suspect("Note 2", alone: 0))
    entered, leave = Queue.new, Queue.new
    start = lambda do |number|
      Thread.new { jobs.run("Note #{number}", 60, aside) { [entered << number, leave.pop] } }
    end
    first = start.call(1)
    assert_equal 1, entered.pop
    second = start.call(2) # the suspect waits until the first is done
    await_sleep(second)
    assert_equal [["Note 1", nil]], in_flight
    leave << :first
    assert first.join(20)
    assert_equal 2, entered.pop
    third = start.call(3) # must not run beside the suspect
    await_sleep(third)
    assert_equal [["Note 2", nil]], in_flight
    leave << :second
    assert second.join(20)
    assert_equal 3, entered.pop
    leave << :third
    assert third.join(20)
  end

  test "a suspect that was done alone is suspected no more" do
    jobs = runner(suspect("Note 1", alone: 2))
    assert_equal :done, jobs.run("Note 1", 60, aside) { :done }
    assert_equal [["suspects_resolved", { "suspects" => [["Note 1", nil]], "blamed" => false }]],
                 resolved
    assert_empty @node.crash_suspects
  end

  test "a suspect that runs alone counts as work, and is suspected no more if it fails" do
    jobs = runner(suspect("Note 1", alone: 2))
    error = assert_raises(KeyError) do
      jobs.run("Note 1", 60, aside) { raise KeyError, jobs.working?.to_s }
    end
    assert_equal "true", error.message
    refute_predicate jobs, :working?
    assert_empty @node.crash_suspects
  end

  test "a suspect that is interrupted stays suspected" do
    jobs = runner(suspect("Note 1", alone: 2))
    assert_raises(Interrupt) { jobs.run("Note 1", 60, aside) { raise Interrupt } }
    refute_empty @node.crash_suspects.to_a
  end

  test "a job that crashed three processes alone is set aside with the causes" do
    jobs = runner(suspect("Note 1", alone: 3))
    jobs.run("Note 1", 60, aside) { flunk "it must not run" }
    assert_equal ["alone in flight in 3 crashes: SIGSEGV, SIGKILL"], @aside
    assert_equal [true, false], resolved.map { |_, facts| facts["blamed"] }
  end

  test "a suspect that can't be set aside stays suspected" do
    jobs = runner(suspect("Note 1", alone: 3))
    assert_raises(IOError) { jobs.run("Note 1", 60, ->(_) { raise IOError }) { flunk } }
    assert_empty resolved
    assert_predicate @node.crash_suspects, :any?
  end

  test "an error while a job waits for its turn leaves the others as they are" do
    jobs = runner(suspect("Note 1", alone: 0))
    entered, leave = Queue.new, Queue.new
    alone = Thread.new { jobs.run("Note 1", 60, aside) { [entered << 1, leave.pop] } }
    entered.pop
    waiting = Thread.new { jobs.run("Note 2", 60, aside) { flunk "interrupted" } }
    waiting.report_on_exception = false
    await_sleep(waiting)
    waiting.raise(IOError)
    assert_raises(IOError) { waiting.join(20) }
    leave << :on
    assert alone.join(20)
    refute_predicate jobs, :working?
    assert_equal :done, jobs.run("Note 3", 60, aside) { :done }
  end

  private

  def runner(*suspects, begun: true)
    report = ->(type, facts) { @reported << [type, facts] }
    @node = Skep::Swarm::Node.new(id: 0, swarm: "a", mold: 0, page: @page, layout: @layout,
                                  suspects:, report:)
    Skep::Guest::JobRunner.new(@node, threads: 2).tap { |jobs| jobs.begin_work if begun }
  end

  def suspect(in_flight, alone:)
    { "in_flight" => in_flight, "current_item" => nil, "crashes" => alone + 1, "alone" => alone,
      "ends" => %w[SIGSEGV SIGKILL], "slots" => [0], "time" => Skep::OS.now }
  end

  def inherits? = Fiber.respond_to?(:[])
  def aside = ->(why) { @aside << why }
  def resolved = @reported.select { |type,| type == "suspects_resolved" }

  def in_flight
    Scoreboard::Reader.new(@page, @layout).items_in_flight(Struct.new(:page_index).new(0))
  end

  def await_sleep(thread)
    deadline = Skep::OS.now + Patience.of(20)
    until thread.stop?
      flunk "it doesn't wait" if Skep::OS.now > deadline
      IO.select(nil, nil, nil, 0.01)
    end
  end
end
