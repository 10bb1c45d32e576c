# frozen_string_literal: true

require "fork/support/guard_case"

class GuardKernelObjectsTest < GuardCase
  CLOEXEC = 0o2000000
  MADE = { "epoll_create1" => [[CLOEXEC], "an epoll set (0 descriptors watched)"],
           "eventfd" => [[0, CLOEXEC], "an eventfd"],
           "timerfd_create" => [[1, CLOEXEC], "a timerfd"],
           "inotify_init1" => [[CLOEXEC], "an inotify instance (0 files watched)"] }.freeze
  private_constant :CLOEXEC, :MADE

  def setup
    skip "there are none but on Linux" unless RUBY_PLATFORM.include?("linux")
    super
  end

  MADE.each do |function, (args, what)|
    test "finds what #{function} made" do
      io = made(function, *args)
      finding = finding_of(io)
      assert_equal [:kernel_object, :breaks, what],
                   finding.to_h.values_at(:kind, :severity, :what)
      number = io.fileno
      io.close
      assert_empty findings_of(number)
    end
  end

  test "passes skep's own pollers, pidfds and pages" do
    assert_equal "", output_of(<<~RUBY)
      require "skep/fork"
      require "skep/os"
      reader, writer = IO.pipe
      poller = Skep::OS::EventLoop::Poller.new
      poller.add(reader, :input)
      ours = [poller, Skep::OS::EventLoop::Poller.new, Skep::OS::SharedPage.create(2), Skep.pidfd(Process.pid)]
      puts Skep::Fork::Guard.check(except: [reader, writer])
      ours.each(&:close)
    RUBY
  end

  test "passes Ruby's own, whatever threads have run" do
    assert_equal "", output_of(<<~RUBY)
      require "timeout"
      reader, writer = IO.pipe
      waiting = Thread.new { reader.read }
      Timeout.timeout(5) { writer.close || waiting.join }
      reader.close
      10.times.map { Thread.new { IO.select(nil, nil, nil, 0.001) } }.each(&:join)
      system("true")
      puts Skep::Fork::Guard.check
      fork { puts Skep::Fork::Guard.check } && Process.wait
    RUBY
  end

  private

  def made(function, *args)
    require "fiddle"
    types = args.map { Fiddle::TYPE_INT }
    call = Fiddle::Function.new(Fiddle.dlopen(nil)[function], types, Fiddle::TYPE_INT)
    number = call.call(*args)
    assert_operator number, :>=, 0
    own(IO.for_fd(number, "r"))
  end
end
