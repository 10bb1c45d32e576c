# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ChannelTest < Skep::TestCase
  Channel = Skep::Swarm::IPC::Channel

  def setup
    @ours, socket = Channel.pair
    @theirs = Channel.new(socket)
  end

  def teardown = [@ours, @theirs].each(&:close)

  test "carries plain data in order" do
    @ours.post("fork", { node: 3, list: [1, nil, "ä"] })
    @ours.post("stop")
    frames = received(@theirs)

    assert_equal %w[fork stop], frames.map(&:type)
    assert_equal({ "node" => 3, "list" => [1, nil, "ä"] }, frames[0].facts)
  end

  test "one encoded frame can be sent over several channels" do
    other, socket = Channel.pair
    third = Channel.new(socket)
    bytes = Channel.encode("suspects", { "added" => ["x" * 16_000] * 20 })
    [@ours, other].each { |one| one.post_encoded(bytes) }
    all = [[@ours, @theirs], [other, third]].flat_map do |from, to|
      frames = []
      frames.concat(received(to)).tap { from.flush } until frames.any?
      frames
    end
    assert_equal [["suspects", 20]] * 2, all.map { |one| [one.type, one["added"].size] }
    [other, third].each(&:close)
  end

  test "encodes nothing for an end that is gone" do
    @theirs.close
    refute @ours.post("first")
    seen = []
    fact = Object.new
    fact.define_singleton_method(:inspect) { "#{seen << 1}" }
    refute @ours.post("second", { fact: })
    assert_empty seen
  end

  test "carries descriptors, and closes those it gives away" do
    reader, writer = IO.pipe
    @ours.post("take", { n: 1 }, give: [writer])
    @ours.post("none")
    frames = received(@theirs)
    frames[0].ios.first.tap { |io| io.write("through") }.close

    assert_predicate writer, :closed?
    assert_equal "through", reader.read
    assert_empty frames[1].ios
    reader.close
  end

  test "reassembles a frame that arrives in pieces, with the descriptor of the first piece" do
    reader, writer = IO.pipe
    lines = ["x" * 10_000] * 5
    @ours.post("long", { lines: }, lend: [writer])
    @ours.post("next")
    frames = received(@theirs)

    assert_equal lines, frames[0]["lines"]
    assert_equal [1, 0], frames.map { |frame| frame.ios.size }
    [reader, writer, *frames[0].ios].each(&:close)
  end

  # sendmsg(2) fails with ETOOMANYREFS if the user has too many descriptors in flight in sockets.
  # The program runs in a separate process, under a user id that this limit applies to.
  test "keeps a frame that the kernel refuses, and sends it later with its descriptor" do
    out, = run_program(<<~'RUBY')
      require "skep/swarm"
      ours, socket = Skep::Swarm::IPC::Channel.pair
      theirs = Skep::Swarm::IPC::Channel.new(socket)
      loop = Skep::OS::EventLoop.new
      table = Skep::Swarm::IPC::Messages::TO_NODE
      link = Skep::Swarm::IPC::Connection.new(loop, ours, table) { nil }
      hog, hogged = UNIXSocket.pair
      null = File.open("/dev/null")
      Process::UID.change_privilege(65_534) if Process.uid.zero?
      Process.setrlimit(:NOFILE, 30, Process.getrlimit(:NOFILE).last)
      rights = Socket::AncillaryData.unix_rights(*[null] * 8)
      begin
        10.times { hog.sendmsg("x", 0, nil, rights) }
      rescue Errno::ETOOMANYREFS
        puts "full"
      end
      reader, writer = IO.pipe
      link.listen
      puts link.post("take", {}, give: [writer]), ours.send_buffer_full?, ours.pending?, link.post("next")
      loop.turn(0)
      hogged.close
      loop.turn(10) while ours.pending?
      theirs.receive do |frame|
        puts frame.type
        frame.ios.each { |io| io.write("through") && io.close }
      end
      puts reader.read
    RUBY
    assert_equal %w[full true true true true take next through], out.split
  end

  # Runs in a separate process, because this one may have more descriptors open than the limit.
  test "a frame whose descriptor was lost doesn't get the next frame's descriptor" do
    out, = run_program(<<~'RUBY')
      require "skep/swarm"
      ours, socket = Skep::Swarm::IPC::Channel.pair
      theirs = Skep::Swarm::IPC::Channel.new(socket)
      reader, writer = IO.pipe
      ours.post("lost", {}, lend: [reader])
      limit = Process.getrlimit(:NOFILE)
      Process.setrlimit(:NOFILE, 64, limit.last)
      held = []
      begin
        loop { held << File.open(IO::NULL) }
      rescue Errno::EMFILE
        theirs.__send__(:fill)
      end
      Process.setrlimit(:NOFILE, *limit)
      ours.post("come", {}, lend: [writer])
      theirs.receive { |frame| puts "#{frame.type} #{frame.ios.size}" }
    RUBY

    assert_equal "lost 0\ncome 1\n", out
  end

  test "reports the end of the channel after the last frame" do
    @ours.post("last")
    @ours.close
    seen = []

    refute(@theirs.receive { |frame| seen << frame.type })
    assert_equal ["last"], seen
    refute @theirs.post("after the end")
  end

  test "never blocks, and sends the backlog when the socket is writable" do
    big = ["x" * 16_000] * 6
    20.times { |i| assert @ours.post("big", { i:, big: }) }
    assert_predicate @ours, :pending?
    numbers = []
    until numbers.size == 20
      @theirs.receive { |frame| numbers << frame["i"] }
      @ours.flush
    end

    assert_equal [*0...20], numbers
    refute_predicate @ours, :pending?
  end

  test "drops a frame that may be dropped when the backlog is full" do
    big = ["x" * 16_000] * 32
    results = Array.new(8) { @ours.post("event", { big: }, may_drop: true) }

    assert_includes results, false
    assert @ours.post("must go")
  end

  test "sends any object as plain data, and invalid bytes as valid text" do
    @ours.post("odd", { bytes: "\xFF\x00".b, nan: Float::NAN, object: $stdout, symbol: :always })
    facts = received(@theirs).first.facts

    assert_equal "always", facts["symbol"]
    assert_equal "NaN", facts["nan"]
    assert_match(/IO/, facts["object"])
    assert_predicate facts["bytes"], :valid_encoding?
  end

  test "refuses a frame of another version, and advises to restart the swarm" do
    left, right = UNIXSocket.pair
    left.write([2, 9, 0].pack("NCC"), "{}")
    other = Channel.new(right)
    error = assert_raises(Channel::Incompatible) { received(other) }

    assert_match(/version 9.*restart the swarm/, error.message)
    [left, other].each(&:close)
  end

  BAD = { "a frame that is too long" => [2**31, 1, 0].pack("NCC"),
          "a frame that isn't JSON" => "{", "a frame that isn't an Array" => "{}",
          "a type that isn't a String" => "[1,{}]", "facts that aren't a Hash" => '["x",[]]',
          "a number that is NaN" => '["x",{"a":NaN}]',
          "bytes that aren't UTF-8" => "[\"x\",{\"a\":\"\xFF\"}]",
          "a lone surrogate" => '["x",{"a":"\ud800"}]',
          "nesting that is too deep" => "[" * 1_000_000 }.freeze
  private_constant :BAD

  BAD.each do |what, text|
    test "refuses #{what} with a short error message" do
      text = [text.bytesize, 1, 0].pack("NCC") << text.b if text.start_with?("[", "{")
      left, right = UNIXSocket.pair
      other = Channel.new(right)
      writer = Thread.new { [left.write(text), left.close] }
      error = assert_raises(Channel::ProtocolError) do
        50.times { other.receive { flunk } && other.to_io.wait_readable(5) }
      end
      assert_operator error.message.size, :<, 300
      writer.join
    ensure
      [left, other].each(&:close)
    end
  end

  test "reads a bounded number of bytes in a turn, and returns :more" do
    left, right = UNIXSocket.pair
    other = Channel.new(right)
    frame = '["x",{}]'.then { |text| [text.bytesize, 1, 0].pack("NCC") << text }
    left.write(frame * 10_000)
    count = 0
    assert_equal :more, other.receive { count += 1 }
    assert_includes 1..(70_000 / frame.bytesize), count
    assert_equal(:more, other.receive { count += 1 })
    nil while other.receive { count += 1 } == :more
    assert_equal 10_000, count
    [left, other].each(&:close)
  end

  test "closes descriptors that arrive on a channel without descriptors" do
    ours, socket = Channel.pair(descriptors: false)
    theirs = Channel.new(socket)
    reader, writer = IO.pipe
    theirs.post("here", {}, give: [writer])
    frames = received(ours)
    assert_equal [["here", []]], frames.map { |frame| [frame.type, frame.ios] }
    assert reader.wait_readable(5) # at its end
    assert_nil reader.read(1)
    [ours, theirs, reader].each(&:close)
  end

  test "take returns one frame, or nil at the deadline" do
    assert_nil @theirs.take(timeout: 0.01)
    @ours.post("one")
    assert_equal "one", @theirs.take(timeout: 5).type
  end

  private

  def received(channel) = [].tap { |frames| channel.receive { |frame| frames << frame } }
end
