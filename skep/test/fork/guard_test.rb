# frozen_string_literal: true

require "test_helper"
require "skep/fork"

class GuardTest < Skep::TestCase
  # Starts a native thread that isn't Ruby's and waits for a lock for ever. Runs other programs
  # until it waits, because the guard can't identify a running thread.
  NATIVE_THREAD = <<~RUBY
    require "skep/fork"
    require "fiddle"
    libc = Fiddle.dlopen(nil)
    function = ->(name, *types) { Fiddle::Function.new(libc[name], types, Fiddle::TYPE_INT) }
    pointer = Fiddle::TYPE_VOIDP
    thread, lock = Array.new(2) { Fiddle::Pointer.malloc(64, Fiddle::RUBY_FREE) }
    lock[0, 64] = 0.chr * 64
    function["pthread_mutex_lock", pointer].call(lock)
    function["pthread_create", *[pointer] * 4].call(thread, nil, libc["pthread_mutex_lock"], lock)
    function["pthread_setname_np", pointer, pointer].call(thread.ptr, "rdk:main") if ARGV.any?
    calls = Dir["/proc/self/task/*/syscall"]
    # The word that it waits for is the lock's first in glibc, another one in musl.
    waits = ->(call) { (lock.to_i...lock.to_i + 64).cover?(File.read(call).split[1].to_s.hex) }
    system("true") until calls.any?(&waits)
  RUBY
  CHECK = "puts Skep::Fork::Guard.check"
  private_constant :NATIVE_THREAD, :CHECK

  def teardown
    @threads&.each(&:kill)&.each(&:join)
    super
  end

  test "finds nothing in a bare Ruby" do
    assert_equal "", output_of("require 'skep/fork'\n#{CHECK}")
  end

  test "finds nothing in a forked child, whichever thread has forked" do
    assert_equal "", output_of("require 'skep/fork'\nfork { #{CHECK} }; Process.wait; #{CHECK}")
    assert_equal "", output_of(<<~RUBY)
      require "skep/fork"
      Thread.new { Process.wait(fork { #{CHECK} }) }.tap { |thread| thread.name = "worker" }.join
    RUBY
  end

  test "calls no method that a Thread subclass has overridden" do
    hostile = Class.new(Thread) do
      def inspect = raise(NotImplementedError)
      def name = raise(NotImplementedError)
    end
    runs = Queue.new
    @threads = [hostile.new { runs.push(true) && Thread.stop }]
    runs.pop
    Thread.instance_method(:name=).bind_call(@threads.first, "\xE9\xFF".b)
    found = Skep::Fork::Guard.check.select { |finding| finding.where.include?(__FILE__) }
    assert_equal [[:ruby_thread, "started at #{__FILE__}:#{__LINE__ - 4}"]],
                 found.map { |one| [one.kind, one.where] }
  end

  test "finds a socket whatever its IO objects raise" do
    assert_equal "datagram\n", output_of(<<~RUBY)
      require "skep/fork"
      require "socket"
      socket = UDPSocket.new.tap { |udp| udp.connect("127.0.0.1", 9) }
      io = Class.new(IO) { def autoclose? = raise(NotImplementedError, "not mine") }
      hostile = io.for_fd(socket.fileno, autoclose: false)
      puts Skep::Fork::Guard.check.map(&:kind)
      hostile.close
    RUBY
  end

  test "ignores threads that have ended" do
    assert_equal "", output_of("require 'skep/fork'\n20.times { Thread.new {}.join }\n#{CHECK}")
  end

  test "ignores a named thread that has ended just now" do
    assert_equal "", output_of(<<~RUBY)
      require "skep/fork"
      50.times do |number|
        Thread.new { Thread.current.name = "worker \#{number}" }.join
        #{CHECK}
      end
    RUBY
  end

  test "finds nothing in a program with much loaded and little left open" do
    assert_equal "", output_of(<<~RUBY, "", gems: true)
      %w[skep/fork json net/http openssl logger yaml erb timeout tempfile monitor socket set time
         securerandom digest open3 optparse pstore weakref etc].each { |name| require name }
      Timeout.timeout(5) { ERB.new("<%= 1 %>").result }
      server = TCPServer.new("127.0.0.1", 0)
      answer = ->(it) { it.readpartial(4096) && it.write("HTTP/1.0 200 OK\\n\\nhi") }
      answers = Thread.new { server.accept.tap(&answer).close }
      Net::HTTP.get(URI("http://127.0.0.1:\#{server.addr[1]}/"))
      answers.join
      IO.popen("cat", "r+") { |io| io.close_write || io.read }
      pool = Array.new(4) { Thread.new { YAML.load("a: 1") } }.map(&:value)
      log = Logger.new(File::NULL)
      log.info(JSON.generate(pool))
      lock = Monitor.new
      lock.synchronize { Mutex.new.synchronize { Queue.new << 1 } }
      GC.start
      #{CHECK}
    RUBY
  end

  test "reports an inspection that raised, and runs the others" do
    out = output_of(<<~RUBY)
      require "skep/fork"
      class << Skep::OS::ProcessState::FileDescriptor
        remove_method(:all)
        def all(**) = raise(IOError, "no such luck")
      end
      Thread.new { Thread.stop }.name = "mailer"
      puts Skep::Fork::Guard.check.map { |one| [one.kind, one.severity, one.advice].join(" ") }
    RUBY
    assert_match(/\Aruby_thread breaks /, out.lines.first)
    assert_equal "unseen note unknown: IOError, no such luck", out.lines[1].chomp
  end

  test "never raises, not even without a descriptor left" do
    out = output_of(<<~RUBY)
      require "skep/fork"
      Thread.new { Thread.stop }
      Process.setrlimit(:NOFILE, 64)
      files = []
      begin
        loop { files << File.open(File::NULL) }
      rescue Errno::EMFILE
        found = Skep::Fork::Guard.check
      end
      files.each(&:close)
      puts found.map(&:kind).uniq
    RUBY
    assert_equal %w[ruby_thread unseen], out.split
  end

  test "reports the threads of a pool that restarts in a child as a note" do
    out = output_of(<<~RUBY)
      require "skep/fork"
      module Concurrent
        class RubyThreadPoolExecutor
          private def ns_reset_if_forked; end
        end
      end
      path = "/gems/concurrent-ruby/concurrent/executor/ruby_thread_pool_executor.rb"
      eval("Thread.new { Thread.stop }", nil, path, 7)
      puts Skep::Fork::Guard.check.map(&:severity)
    RUBY
    assert_equal "note\n", out
  end

  test "finds Ruby's sockets if the process can't read its own /proc" do
    skip "it needs root, to change user" unless Process.uid.zero?
    # Without RubyGems, which warns of folders of gems that only root may enter.
    out = output_of(<<~RUBY, env: { "RUBYOPT" => "--disable=gems" })
      require "skep/fork"
      require "socket"
      server = TCPServer.new("127.0.0.1", 0)
      client = TCPSocket.new("127.0.0.1", server.addr[1])
      Process::Sys.setuid(65_534)
      seen = Dir.children("/proc/self/fd").any? rescue false
      puts Skep::Fork::Guard.check.map(&:what), seen, client.closed?
    RUBY
    assert_match(/\Aa (?:TCP )?socket connected to 127\.0\.0\.1:\d+\n\w+\nfalse\n\z/, out)
  end

  test "finds a thread, and reports where it was started" do
    waiting { |thread| thread.name = "night mailer" }
    finding = Skep::Fork::Guard.check.find { |one| one.what.include?("night mailer") }
    assert_equal :ruby_thread, finding.kind
    assert_equal 'the Ruby thread "night mailer"', finding.what
    line = method(:waiting).source_location.last + 1
    assert_equal "started at #{__FILE__}:#{line}", finding.where
    assert_match(/on_fork/, finding.advice)
    assert_predicate finding, :frozen?
    assert_predicate finding, :breaks?
  end

  test "finds unnamed Ruby threads, also before they run, but no native ones" do
    out = output_of(<<~RUBY)
      require "skep/fork"
      5.times { Thread.new { Thread.stop } }
      puts Skep::Fork::Guard.check.map(&:what)
    RUBY
    assert_equal "the Ruby thread without a name\n" * 5, out
  end

  test "ignores threads that are marked as fork-safe" do
    assert_equal "", output_of(<<~RUBY)
      require "skep/fork"
      Thread.new { Thread.stop }.thread_variable_set(:fork_safe, true)
      #{CHECK}
    RUBY
  end

  test "finds the main thread if another thread forks" do
    places = Thread.new { Skep::Fork::Guard.check.map(&:where) }.value
    assert_includes places, "the main thread"
  end

  test "finds a Ractor, and nothing of one that has ended" do
    ractor = <<~RUBY
      require "skep/fork"
      Warning[:experimental] = false
      ractor = Ractor.new { Ractor.receive }
      puts Skep::Fork::Guard.check.map { |one| [one.kind, one.what].join(" ") }
      ractor.send(1)
      ractor.respond_to?(:value) ? ractor.value : ractor.take
      others = Dir["/proc/self/task/*/syscall"].reject { |call| call.include?("/\#{Process.pid}/") }
      running = -> { others.any? { |call| File.exist?(call) && File.read(call).start_with?("run") } }
      system("true") while Ractor.count > 1 || running.call
    RUBY
    assert_equal "ruby_thread a Ractor\n", output_of("#{ractor}#{CHECK}")
  end

  test "finds gRPC as one, with its hooks for forks" do
    grpc = <<~RUBY
      module GRPC; end
      %w[grpc_global_timer event_engine lifeguard].each do |name|
        other = Fiddle::Pointer.malloc(64, Fiddle::RUBY_FREE)
        function["pthread_create", *[pointer] * 4].call(other, nil, libc["pthread_mutex_lock"], lock)
        function["pthread_setname_np", pointer, pointer].call(other.ptr, name[0, 15])
      end
      calls = Dir["/proc/self/task/*/syscall"]
      system("true") until calls.count(&waits) == 4
      found = Skep::Fork::Guard.check
      puts found.map(&:kind).inspect, found.first.severity, found.first
      ENV["GRPC_ENABLE_FORK_SUPPORT"] = "1"
      puts Skep::Fork::Guard.check.first.severity
    RUBY
    kinds, severity, found, note = output_of("#{NATIVE_THREAD}#{grpc}", "named").lines(chomp: true)
    assert_equal ["[:client, :native_thread]", "breaks", "note"], [kinds, severity, note]
    %w[event_engine grpc_global_tim lifeguard GRPC.prefork GRPC.postfork_parent
       GRPC.postfork_child].each { |name| assert_includes found, name }
  end

  test "finds a library's native thread by its name" do
    out = output_of("#{NATIVE_THREAD}#{CHECK}", "named")
    assert_match(/\Athe native thread "rdk:main", task \d+ of pid \d+: .+\n\z/, out)
  end

  test "finds a native thread that was never named" do
    assert_equal 1, output_of("#{NATIVE_THREAD}#{CHECK}").lines.size
  end

  private

  # Starts a Ruby thread that waits until the test has ended.
  def waiting(&block)
    thread = Thread.new { Thread.stop }
    block&.call(thread)
    (@threads ||= []) << thread
  end

  def output_of(program, *args, **how)
    out, err, status = run_program(program, args, **how)
    assert_equal "", err
    assert_predicate status, :success?
    out
  end
end
