# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ForkServerTest < Skep::TestCase
  # A mold as its supervisor sees it. With STARVE its children have no descriptor left.
  MOLD = <<~'RUBY'
    require "skep/swarm"
    include Skep::Swarm::Processes
    Swarm = Skep::Swarm
    FORK = { "page_index" => 0, "node" => 0, "task" => 0, "mold" => 0, "placed" => true,
             "suspects" => [] }.freeze
    ours, theirs = Swarm::IPC::Channel.pair
    mold = fork do
      ours.close
      swarm = Skep.swarm("s") { |one| one.work { |node| node.wait } }
      config = Swarm::Definition::Config.new("s", {}, tasks: [{}])
      channel = Swarm::IPC::Channel.new(theirs)
      signals = Swarm::Runtime::SelfPipe.new(%w[TERM])
      orphan_guard = Swarm::Runtime::OrphanGuard.new
      orphan_guard.orphan_timeout = 5.0
      Skep.on_fork(child: -> { Process.setrlimit(:NOFILE, 3) }) if defined?(STARVE)
      ForkServer.new(swarm, config, number: 0, channel:, signals:, orphan_guard:,
                     finalizers: Skep::Fork::Guard::Finalizers.new).run
      exit!(0)
    end
    theirs.close
    define_method(:children) do
      File.read("/proc/#{mold}/task/#{mold}/children").split.map(&:to_i)
    end

    def title(pid)
      File.read("/proc/#{pid}/cmdline")
    rescue SystemCallError # that of the refused fork has ended
    end

    def received(channel)
      channel.to_io.wait_readable(60)
      frame = channel.take
      yield frame if block_given?
      frame.type
    end

    def must
      deadline = Skep::OS.now + 60
      until yield
        abort "not in time" if Skep::OS.now > deadline
        IO.select(nil, nil, nil, 0.01)
      end
    end
  RUBY
  private_constant :MOLD

  test "doesn't use a preforked child if the kernel refuses to pass the order's descriptor" do
    out, = run_program(<<~'RUBY')
      require "skep/swarm"
      Process::UID.change_privilege(65_534) if Process.uid.zero?
      loop = Skep::OS::EventLoop.new
      preforked = Skep::Swarm::Processes::PreforkedChild.new(loop, stuck: nil) do |order|
        fork { order.write("waiting") && IO.select([order]) }
      end
      preforked.soon
      2.times { loop.turn(10) } # it is forked, and waits
      hog, hogged = UNIXSocket.pair
      null = File.open(IO::NULL)
      Process.setrlimit(:NOFILE, 30, Process.getrlimit(:NOFILE).last)
      rights = Socket::AncillaryData.unix_rights(*[null] * 8)
      begin
        10.times { hog.sendmsg("x", 0, nil, rights) }
      rescue Errno::ETOOMANYREFS
        puts "full"
      end
      order = Skep::Swarm::IPC::Channel::Message.new("fork", {}, [null], 0)
      p preforked.take(order)
    RUBY

    assert_equal "full\nnil\n", out
  end

  test "a preforked child that doesn't say that it waits isn't assigned, and is killed" do
    order = Skep::Swarm::IPC::Channel::Message.new("fork", {}, [@null], 0)
    preforked { |socket| socket.wait_readable }
    assert_nil @preforked.take(order)
    turn_until { @stuck.any? && @loop.inspect.include?(" ios=0 ") } # and it is reaped
    assert_equal [@pid], @stuck
  end

  test "a preforked child whose fork hooks take seconds is assigned, not killed" do
    order = Skep::Swarm::IPC::Channel::Message.new("fork", {}, [@null], 0)
    preforked do |socket|
      IO.select(nil, nil, nil, 3)
      [socket.write("waiting"), socket.wait_readable, socket.close, sleep]
    end
    turn_until { @stuck.any? || (@node = @preforked.take(order)) }
    assert_empty @stuck
    @node.signal(:KILL)
    turn_until { @loop.inspect.include?(" ios=0 ") } # its end of the order's channel is closed
    @node.wait
    @node.close
  end

  test "a preforked child that is stopped when it is assigned is killed" do
    order = Skep::Swarm::IPC::Channel::Message.new("fork", {}, [@null], 0)
    preforked { |socket| [socket.write("waiting"), socket.wait_readable, socket.wait_readable] }
    turn_until { (@node = @preforked.take(order)) }
    Process.kill(:STOP, @pid)
    turn_until { @node.to_io.wait_readable(0) }
    assert_equal [@pid], @stuck
    assert_equal 9, @node.wait(timeout: 0).termsig
    @node.close
  end

  test "a preforked child that has just ended isn't assigned, and another is forked" do
    order = Skep::Swarm::IPC::Channel::Message.new("fork", {}, [@null], 0)
    preforked { |socket| socket.write("waiting") }
    gone = @pid
    deadline = Skep::OS.now + Patience.of(20)
    until [nil, "Z"].include?(Skep::OS::ProcessState::Stat.of("/proc/#{gone}/stat")&.state)
      flunk "it is still there" if Skep::OS.now > deadline
    end
    assert_nil @preforked.take(order)
    @preforked.soon
    turn_until { @pid != gone }
    turn_until { @loop.inspect.include?(" ios=0 ") }
  end

  test "a preforked child that answers is left alone" do
    order = Skep::Swarm::IPC::Channel::Message.new("fork", {}, [@null], 0)
    preforked { |socket| [socket.write("waiting"), socket.wait_readable, socket.close, sleep] }
    turn_until { (@node = @preforked.take(order)) }
    turn_until { Skep::OS.now > (@until ||= Skep::OS.now + 2.5) }
    assert_equal [[], true], [@stuck, @node.alive?]
    @node.signal(:KILL)
    @node.wait
    @node.close
  end

  test "ends the child that it has forked ahead once its mold is retired" do
    out, err, = run_program(<<~RUBY)
      #{MOLD}
      ours.post("fork", FORK) # without a socket: it is refused, and a process is forked ahead
      ahead = nil
      must { ahead = children.find { |pid| title(pid)&.include?("preforked") } }
      ours.post("retire")
      must { children.empty? }
      ours.post("fork", FORK)
      must { received(ours) == "fork_failed" }
      ours.post("leave")
      ours.close
      p [ahead.class, Process.wait2(mold).last.exitstatus]
    RUBY

    assert_equal ["[Integer, 0]\n", ""], [out, err]
  end

  test "a child without descriptors ends with one sentence and 75" do
    out, err, = run_program(<<~RUBY)
      STARVE = true
      #{MOLD}
      null = File.open(IO::NULL)
      ours.post("fork", FORK, lend: [null])
      exit_status = nil
      must { received(ours) { |frame| exit_status = frame["exit_status"] } == "exited" }
      ours.post("leave")
      ours.close
      Process.wait(mold)
      p exit_status
    RUBY

    assert_equal "75\n", out
    sentences = err.lines.uniq
    assert_equal 1, sentences.size, err
    assert_match(/\Askep: a process of s could not begin: no file descriptor is left: /, err)
  end

  def teardown
    [@null, @loop].compact.each(&:close)
    super
  end

  private

  # Forks a child ahead, in which the block runs.
  def preforked
    @stuck, @null, @loop = [], File.open(IO::NULL), Skep::OS::EventLoop.new
    stuck = ->(pid) { @stuck << pid }
    @preforked = Skep::Swarm::Processes::PreforkedChild.new(@loop, stuck:) do |socket|
      @pid = fork { yield socket }
    end
    @preforked.soon
    turn_until { @pid }
  end

  def turn_until
    deadline = Skep::OS.now + Patience.of(20)
    until yield
      flunk "not in time" if Skep::OS.now > deadline
      @loop.turn(0.1)
    end
  end
end
