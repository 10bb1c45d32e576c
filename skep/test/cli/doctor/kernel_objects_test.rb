# frozen_string_literal: true

require "fork/support/guard_case"
require "skep/cli"
require "skep/cli/doctor"
require "skep/cli/doctor/kernel_objects"

class DoctorKernelObjectsTest < GuardCase
  KernelObjects = Skep::CLI::Doctor::KernelObjects
  CLOEXEC = 0o2000000
  MADE = { "epoll_create1" => [[CLOEXEC], "an epoll set (0 descriptors watched)"],
           "eventfd" => [[0, CLOEXEC], "an eventfd"],
           "timerfd_create" => [[1, CLOEXEC], "a timerfd"],
           "inotify_init1" => [[CLOEXEC], "an inotify instance (0 files watched)"] }.freeze
  CHECK = "puts Skep::Fork::Guard.check(extra: [Skep::CLI::Doctor::KernelObjects])"
  private_constant :KernelObjects, :CLOEXEC, :MADE, :CHECK

  def setup
    skip "only Linux has such objects" unless RUBY_PLATFORM.include?("linux")
    super
  end

  MADE.each do |function, (args, what)|
    test "what #{function} opened is found until it is closed" do
      io = made(function, *args)
      finding = finding_of(io, extra: [KernelObjects])
      assert_equal [:kernel_object, :breaks, what],
                   finding.to_h.values_at(:kind, :severity, :what)
      number = io.fileno
      io.close
      assert_empty findings_of(number, extra: [KernelObjects])
    end
  end

  test "skep's own pollers, pidfds and pages are no findings" do
    assert_equal "", checked(<<~RUBY)
      reader, writer = IO.pipe
      poller = Skep::OS::EventLoop::Poller.new
      poller.add(reader, :input)
      own = [poller, Skep::OS::EventLoop::Poller.new, Skep::OS::SharedPage.create(2),
             Skep.pidfd(Process.pid)]
      #{CHECK}
      [*own, reader, writer].each(&:close)
    RUBY
  end

  test "Ruby's own objects are no findings, after threads have run and in a child" do
    assert_equal "", checked(<<~RUBY)
      require "timeout"
      reader, writer = IO.pipe
      waiting = Thread.new { reader.read }
      Timeout.timeout(5) { writer.close || waiting.join }
      reader.close
      10.times.map { Thread.new { IO.select(nil, nil, nil, 0.001) } }.each(&:join)
      system("true")
      #{CHECK}
      fork { #{CHECK} } && Process.wait
    RUBY
  end

  private

  # The output of a fresh Ruby with the doctor's inspector loaded.
  def checked(program)
    output_of("require 'skep/cli'\nrequire 'skep/cli/doctor'\n" \
              "require 'skep/cli/doctor/kernel_objects'\n#{program}")
  end

  def made(function, *args)
    require "fiddle"
    types = args.map { Fiddle::TYPE_INT }
    call = Fiddle::Function.new(Fiddle.dlopen(nil)[function], types, Fiddle::TYPE_INT)
    number = call.call(*args)
    assert_operator number, :>=, 0
    own(IO.for_fd(number, "r"))
  end
end
