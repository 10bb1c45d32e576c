# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class MessagesTest < Skep::TestCase
  Swarm = Skep::Swarm
  Messages = Swarm::IPC::Messages
  DURATIONS = { "count" => 2, "sum" => 0.5, "buckets" => [[0.1, 1], [0.4, 1]] }.freeze
  # Invalid values of `work=`. The supervisor would calculate with them.
  BAD_WORK = {
    "nil" => nil, "an integer" => 3, "an array" => [1], "true" => true, "a text" => "x",
    "a total with a long name" => { totals: { "a" * 257 => 1 } },
    "a topic with a long name" => { by_topic: [{ topic: "a" * 257, totals: {},
                                                 handler: DURATIONS }] },
    "totals that are nil" => { totals: nil }, "totals that aren't a Hash" => { totals: [1] },
    "a total that is a text" => { totals: { a: "1" } },
    "a total that is nil" => { totals: { a: nil } },
    "a total that is infinite" => { totals: { a: Float::INFINITY } },
    "a total that is NaN" => { totals: { a: Float::NAN } },
    "a total that overflows a sum" => { totals: { a: 1.7e308 } },
    "a total of more than 64 bits" => { totals: { a: 10**30 } },
    "a total that is rational" => { totals: { a: 1r } },
    "more than 64 totals" => { totals: (0..64).to_h { |n| [n, n] } },
    "a handler that is a text" => { handler: "long" },
    "a handler without buckets" => { handler: { count: 3, sum: 0.5 } },
    "a count that the buckets don't add up to" => { handler: { count: 3, sum: 0.5,
                                                               buckets: [[0, 2]] } },
    "a bucket below zero" => { handler: { count: 2, sum: 0.5, buckets: [[-1, 2]] } },
    "a bucket of 1e300 s" => { handler: { count: 2, sum: 0.5, buckets: [[1e300, 2]] } },
    "a bucket that isn't a pair" => { handler: { count: 2, sum: 0.5, buckets: [[1]] } },
    "an infinite sum" => { handler: { count: 1, sum: Float::INFINITY, buckets: [[0.1, 1]] } },
    "topics by name" => { by_topic: { orders: { totals: {} } } },
    "a topic that is a text" => { by_topic: ["orders"] },
    "a topic without a name" => { by_topic: [{ totals: {}, handler: DURATIONS }] },
    "a topic without totals" => { by_topic: [{ topic: "orders", handler: DURATIONS }] },
    "a topic without handler times" => { by_topic: [{ topic: "orders", totals: {} }] }
  }.freeze
  # Types and invalid fields, as a compromised node may send them.
  BAD_FRAMES = [
    ["work", {}], ["work", { "facts" => nil }],
    ["work", { "facts" => { "totals" => { "a" => Float::INFINITY } } }],
    ["event", { "name" => nil, "level" => "info", "facts" => {} }],
    ["event", { "name" => "", "level" => "info", "facts" => {} }],
    ["event", { "name" => "x" * 300, "level" => "info", "facts" => {} }],
    ["event", { "name" => "x", "level" => "loud", "facts" => {} }],
    ["event", { "name" => "x", "level" => "info", "facts" => [] }],
    ["assigned", { "assigned" => 1, "facts" => {} }], ["unhealthy", {}],
    ["failed", { "sentence" => 1 }], ["failed", { "sentence" => "x", "backtrace" => [1] }],
    ["suspects_resolved", { "suspects" => 1, "blamed" => true }],
    ["suspects_resolved", { "suspects" => [["x"]], "blamed" => true }],
    ["suspects_resolved", { "suspects" => [["x", -1]], "blamed" => true }],
    ["suspects_resolved", { "suspects" => [], "blamed" => nil }],
    ["backtraces", { "threads" => nil }],
    ["backtraces", { "threads" => [1] }], ["backtraces", { "threads" => [{}] }],
    ["backtraces", { "threads" => [{ "backtrace" => [] }] }],
    ["backtraces", { "threads" => [{ "name" => 1, "backtrace" => [] }] }],
    ["backtraces", { "threads" => [{ "name" => "a", "backtrace" => [1] }] }],
    ["lines", {}], ["lines", { "lines" => [[1]] }], ["lines", { "lines" => [["1", "a"]] }],
    ["ask", {}], ["ask", { "number" => 2**70 }],
    ["unknown", {}], ["exited", { "page_index" => 1, "pid" => 1 }]
  ].freeze
  FORK = { "page_index" => 0, "node" => 0, "task" => 0, "mold" => 1, "placed" => true,
           "suspects" => [] }.freeze
  # Invalid messages from the supervisor and from a mold, by table.
  BAD_ELSEWHERE = {
    "TO_MOLD" => [["load", { "mold" => 1 }], ["prepare", { "options" => [] }], ["exited", {}],
                  ["fork", { **FORK, "page_index" => -1 }], ["fork", { **FORK, "task" => "0" }],
                  ["fork", { **FORK, "spare" => 1 }], ["fork", { **FORK, "placed" => nil }],
                  ["fork", { **FORK, "suspects" => ["x"] }]],
    "FROM_MOLD" => [["loaded", { "name" => "a" }], ["ready", { "seconds" => "1" }],
                    ["forked", { "page_index" => 0, "pid" => nil }], ["fork", FORK],
                    ["exited", { "page_index" => 0, "pid" => 1, "exit_status" => "0" }]],
    "TO_NODE" => [["stop", {}], ["become_mold", { "mold" => "1" }],
                  ["suspects", { "added" => 1 }], ["suspects", { "dropped" => [["x"]] }],
                  ["step_in", { "node" => 0 }],
                  ["event", { "name" => "x", "facts" => 1 }], ["answer", { "number" => 1 }],
                  ["chaos", { "order" => 1 }], ["ready", {}]]
  }.freeze
  private_constant :DURATIONS, :BAD_WORK, :BAD_FRAMES, :FORK, :BAD_ELSEWHERE

  def setup
    super
    @layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 2)
    @page = Skep::OS::SharedPage.create(@layout.total)
    @sent = []
    @node = Swarm::Node.new(id: 0, swarm: "test", mold: 0, page: @page, layout: @layout,
                              report: ->(type, facts) { @sent << [type, facts] })
  end

  def teardown
    @node.leave
    @page.close
    super
  end

  BAD_WORK.each do |what, facts|
    test "refuses work= with #{what}, in the caller's line" do
      refused(/\Awork=: (?:facts|totals|handler|by_topic)\b.* must/) { @node.work = facts }
      refused(/\Awork=: /) { @node.thread(1).work = facts }
    end
  end

  BAD_FRAMES.each do |type, fields|
    test "the receiver refuses the message #{type} with #{fields.inspect[0, 60]}" do
      frame = Swarm::IPC::Channel::Message.new(type, fields, [])
      assert_raises(Messages::Invalid) { Messages::FROM_NODE.check(frame) }
    end
  end

  BAD_ELSEWHERE.each do |name, frames|
    table = Messages.const_get(name)

    frames.each_with_index do |(type, fields), i|
      test "refuses invalid message #{i} from #{table.from} to #{table.to}, a #{type}" do
        frame = Swarm::IPC::Channel::Message.new(type, fields, [])
        assert_raises(Messages::Invalid) { table.check(frame) }
        assert table.fault(type, fields)
      end
    end
  end

  test "accepts crash suspects as the supervisor sends them" do
    suspects = Swarm::IPC::CrashSuspects.new
    suspects.record_crash([["orders/0/17-42", 25], ["a", nil]], 3, 1.5, "SIGSEGV")
    plain = JSON.parse(JSON.generate(suspects.to_plain))
    frame = Swarm::IPC::Channel::Message.new("suspects", { "added" => plain }, [])
    assert_equal plain, Messages::TO_NODE.check(frame)["added"]
  end

  test "the tables have every message that lib sends, and no other" do
    lib = File.expand_path("../../../lib/skep", __dir__)
    files = Dir.glob("#{lib}/{swarm,control,cli/chaos}/**/*.rb")
    code = files.map { |file| File.read(file, encoding: "UTF-8") }.join
    sent = code.gsub(/^\s*#.*/, "").scan(/\b(?:post|report(?:\.call)?)\(\s*"(\w+)"/).flatten
    unread = ["waiting"] # of a preforked child: its mold reads no byte of it
    assert_equal Messages::ALL.flat_map(&:types).uniq.sort, sent.uniq.sort - unread
  end

  test "sends valid facts as plain data" do
    @node.work = { totals: { jobs: 3, share: 0.5 }, handler: DURATIONS, at: Time,
                    size: Float::INFINITY, odd: 2**80 }
    facts = @sent.last.last["facts"]
    assert_equal({ "jobs" => 3, "share" => 0.5 }, facts["totals"])
    assert_equal ["Time", "Infinity", (2**80).to_s], facts.values_at("at", "size", "odd")
    frame = Swarm::IPC::Channel::Message.new("work", JSON.parse(JSON.generate(@sent.last.last)),
                                             [], 9)
    received = Messages::FROM_NODE.check(frame)
    assert_equal [facts, 9], [received["facts"], received.bytes]
  end

  test "makes the text of an event valid UTF-8, whatever its encoding" do
    ["\xFF\xFE job".b, "é".encode("UTF-16LE"), "é".encode("ISO-8859-1"), "\xFF",
     "a".dup.force_encoding("UTF-7"), "\xA4\xFF".dup.force_encoding("EUC-JP"), "é".b].each do |text|
      @node.unhealthy!(text)
      @node.event(:odd, text => [text, { text => [text] }])
      refute_includes texts(@sent.last(2)).map(&:valid_encoding?), false
      JSON.generate(@sent.last(2))
    end
    assert_equal "é", @sent.last.last["facts"]["é"].first
  end

  test "shows an object whose inspect fails by its class" do
    odd = Class.new { def inspect = raise(IOError) }
    @node.event(:odd, basic: BasicObject.new, odd: odd.new)
    assert_equal ["#<BasicObject>", "#<#{odd}>"], @sent.last.last["facts"].values
  end

  test "refuses an event with an invalid name or level, or too deep or large facts" do
    deep = 40.times.reduce([]) { |held, _| [held] }
    endless = [].tap { |one| one << one }
    wide = 30.times.reduce("x" * 1_000) { |held, _| [held, held] }
    [nil, 3, "", [], "x" * 201, Object.new, BasicObject.new].each do |name|
      refused(/\Aevent: name must be/) { @node.event(name) }
    end
    [nil, 1, :loud, BasicObject.new].each do |level|
      refused(/\Aevent: level must be debug, info, warn or error/) { @node.event(:x, level:) }
    end
    [deep, endless, wide, ["x" * 16_000] * 140].each do |facts|
      refused(/\Aevent: facts must not be (?:nested|larger)/) { @node.event(:x, facts:) }
    end
    assert_empty @sent
  end

  test "refuses invalid arguments of the node's methods, with the rule in the error" do
    [nil, 3, [], BasicObject.new].each do |odd|
      refused(/\Aunhealthy!: reason must be a String/) { @node.unhealthy!(odd) }
      refused(/\Aassigned!: assigned must be true or false/) { @node.assigned!(odd) }
    end
    [-1, 1.5, "1", 2**64, Float::NAN, [], BasicObject.new].each do |odd|
      refused(/\Aprocessed takes an Integer/) { @node.processed(odd) }
      refused(/\Acurrent_item takes nil or an Integer/) { @node.current_item(odd) }
      refused(/\Ain_flight\(thread:\) takes/) { @node.in_flight("x", thread: odd) }
    end
    [[], {}, 1.5, BasicObject.new].each do |odd|
      refused(/\Ain_flight takes a String/) { @node.in_flight(odd) }
    end
    [nil, "1", Float::NAN, Float::INFINITY, 1i].each do |odd|
      refused(/\Abusy\(for:\) takes a finite number/) { @node.busy(for: odd) }
    end
    refused(/\Athread takes an Integer from 0 to 2/) { @node.thread(3) }
  end

  test "shows items in flight as valid UTF-8, whatever was written to the page" do
    node = Struct.new(:page_index).new(0)
    scoreboard = Swarm::IPC::Scoreboard::Reader.new(@page, @layout)
    @node.in_flight("\xFF\xFE job".b)
    @node.thread(1).in_flight("é".encode("UTF-16LE"))
    @page.write(@layout.of(0, thread: 2), "raw \xFF")
    assert_equal ["\uFFFD\uFFFD job", "é", "raw \uFFFD"], scoreboard.in_flight(node)
  end

  test "converts an error to valid text, even if its message raises" do
    odd = Class.new(StandardError) { def message = raise(IOError, "no") }
    assert_equal "IOError: é", Swarm::IPC::PlainData.error(IOError.new("é".encode("UTF-16LE")))
    assert_match(/: its message raised IOError\z/, Swarm::IPC::PlainData.error(odd.new))
    misspelled = assert_raises(NoMethodError) { Object.new.misspelled(1) }
    assert_equal 1, Swarm::IPC::PlainData.error(misspelled).lines.size
  end

  private

  def refused(sentence)
    line = caller_locations(1, 1).first
    error = assert_raises(ArgumentError) { yield }
    assert_match sentence, error.message
    assert_match(/\A#{Regexp.escape(__FILE__)}:/, error.backtrace.first)
    assert_operator error.message.size, :<, 200, line
    error
  end

  def texts(value)
    case value
    when Hash then value.flat_map { |key, held| texts(key) + texts(held) }
    when Array then value.flat_map { |held| texts(held) }
    when String then [value]
    else []
    end
  end
end
