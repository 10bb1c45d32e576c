# frozen_string_literal: true

require "test_helper"
require "skep/work"
require "pty"
require "socket"
require_relative "support/gates"

# What nodes inherit from the caller, and what the caller keeps.
class MapNodesTest < Skep::TestCase
  test "leaves no process when Ctrl-C hits caller and nodes, and raises Interrupt" do
    pid, reader = in_child do |writer|
      Process.setpgid(0, 0)
      begin
        map_for_ever(writer)
      rescue Interrupt
        writer.puts("interrupted, #{children.size} left")
      end
    end
    nodes = pidfds_of_two(reader)
    Process.kill(:INT, -pid) # a child of ours, unreaped
    assert_equal "interrupted, 0 left\n", wait_readable(reader).gets
    assert(nodes.none?(&:alive?))
  ensure
    finish(pid, nodes)
  end

  test "leaves no process when only the caller is interrupted" do
    pid, reader = in_child do |writer|
      map_for_ever(writer)
    rescue Interrupt
      writer.puts("interrupted, #{children.size} left")
    end
    nodes = pidfds_of_two(reader)
    Process.kill(:INT, pid)
    assert_equal "interrupted, 0 left\n", wait_readable(reader).gets
  ensure
    finish(pid, nodes)
  end

  test "leaves no process, whenever it is interrupted" do
    pid, reader = in_child do |writer|
      random = Random.new(1)
      own = Skep.pidfd(Process.pid)
      15.times { interrupted(own, random.rand(0.015)) }
      writer.write(children.size)
    end
    assert_equal "0", wait_readable(reader, 30).read
  ensure
    finish(pid, nil)
  end

  test "nodes end with the caller, even if it was killed" do
    pid, reader = in_child { |writer| map_for_ever(writer) }
    nodes = pidfds_of_two(reader)
    Process.kill(:KILL, pid)
    skip "its nodes finish their items first" unless Skep::OS.native?

    assert(nodes.all? { |node| node.wait(timeout: 5) })
  ensure
    nodes.each { |node| node.signal(:KILL) if node.alive? }
    finish(pid, nodes)
  end

  test "runs neither at_exit hooks nor finalizers in nodes, and flushes their output" do
    out, err, status = run_program(<<~RUBY)
      require "skep/work"
      at_exit { puts "at_exit" }
      thing = Object.new
      ObjectSpace.define_finalizer(thing, proc { puts "finalizer" })
      print "before "
      Skep.each([1, 2], nodes: 2) { |item| print "item " }
      puts "after"
    RUBY
    assert_equal "before item item after\nat_exit\nfinalizer\n", out
    assert_equal ["", true], [err, status.success?]
  end

  test "gives a node no descriptor of its siblings'" do
    gates = Gates.new(4)
    fds = Skep.map((0...4).to_a, nodes: 4) do |item|
      gates.meet(item)
      [ENV.fetch("SKEP_NODE_ID"), Dir.children("/proc/self/fd").size]
    end
    assert_equal 1, fds.map(&:last).uniq.size
    assert_equal %w[0 1 2 3], fds.map(&:first).sort
  ensure
    gates.close
  end

  test "gives a map in a node no descriptor of its parent's map" do
    outer, inner = Skep.map([1], nodes: 1) do
      [sockets, Skep.map([1], nodes: 1) { sockets }.first]
    end.first
    assert_equal outer, inner
  end

  test "nodes have default handlers, and ignore the signals that the caller ignores" do
    previous = trap(:USR1) { raise "the caller's" }
    hup = trap(:HUP, "IGNORE")
    handlers = Skep.map([1], nodes: 1) { %w[USR1 HUP TERM].map { |name| trap(name, "DEFAULT") } }
    assert_equal [%w[DEFAULT IGNORE DEFAULT]], handlers
  ensure
    trap(:USR1, previous)
    trap(:HUP, hup)
  end

  test "reaps no child of the caller's" do
    pid = fork { exit!(5) }
    Skep.map([1, 2], nodes: 2) { 1 }
    assert_equal 5, Process.wait2(pid).last.exitstatus
  end

  test "works if other code reaps the nodes" do
    out, err, status = run_program(<<~RUBY)
      require "skep/work"
      trap(:CHLD, "IGNORE")
      p Skep.map([1, 2, 3], nodes: 2) { |item| item + 1 }
      begin
        Skep.map([1], nodes: 1) { exit! }
      rescue Skep::NodeDied => e
        puts "died"
      end
    RUBY
    assert_equal ["[2, 3, 4]\ndied\n", "", true], [out, err, status.success?]
  end

  test "lets the block fork and wait" do
    statuses = Skep.map([3, 4], nodes: 2) do |item|
      pid = fork { exit!(item) }
      Process.wait2(pid).last.exitstatus
    end
    assert_equal [3, 4], statuses
  end

  test "doesn't wait for a process that the block left running" do
    reader, writer = IO.pipe
    pids = Skep.map([1], nodes: 1) { fork { writer.close && reader.read } }
    assert_equal 1, pids.size
    writer.close # lets it end
  ensure
    [reader, writer].each(&:close)
  end

  test "leaves the caller's open files intact" do
    server = TCPServer.new("127.0.0.1", 0)
    client = TCPSocket.new("127.0.0.1", server.addr[1])
    peer = server.accept
    Skep.map([1, 2, 3, 4], nodes: 2) { client.object_id }
    client.write("still here")
    assert_equal "still here", wait_readable(peer).readpartial(20)
  ensure
    [server, client, peer].each(&:close)
  end

  test "draws a progress bar on a terminal only" do
    text = terminal_of do |output|
      Skep.each((1..50).to_a, nodes: 2, progress: { title: "Half", output: }) { 1 }
    end
    assert_match(/Half +\d+% \|=+>? *\| \d+\/50/, text)
    assert_match(/100% .* 50\/50  \d\d:\d\d in all/, text)
    assert_silent { Skep.map([1], nodes: 1, progress: true) { 1 } }
    endless = Enumerator.new { |items| items << 1 }
    counted = terminal_of { |output| Skep.map(endless, nodes: 1, progress: { output: }) { 1 } }
    assert_match(/Progress 1  \d\d:\d\d/, counted)
  end

  private

  def map_for_ever(writer)
    Skep.map([1, 2], nodes: 2) do
      writer.puts(Process.pid)
      IO.select([], [], [], 30)
    end
  end

  def interrupted(own, seconds)
    killer = Thread.new { IO.select([], [], [], seconds) || own.signal(:INT) }
    Skep.map(1..40, nodes: 3) { |item| IO.select([], [], [], 0.001) || item }
    killer.join
    IO.select([], [], [], 5) # the signal arrives
  rescue Interrupt
    killer.join
  end

  def pidfds_of_two(reader) = Array.new(2) { Skep.pidfd(Integer(wait_readable(reader).gets)) }

  def finish(pid, nodes)
    Process.wait(pid)
    nodes&.each(&:close)
  end

  def children = Dir["/proc/self/task/*/children"].flat_map { |list| File.read(list).split }

  def sockets
    IO.popen(["ls", "-l", "/proc/#{Process.pid}/fd"], &:readlines).grep(/socket|memfd|pidfd/).size
  end

  def terminal_of
    master, slave = PTY.open
    yield slave
    slave.close
    text = +""
    text << master.readpartial(65_536) while wait_readable(master)
  rescue Errno::EIO, EOFError # all was read
    text
  ensure
    [master, slave].each(&:close)
  end
end
