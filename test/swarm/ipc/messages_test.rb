# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class MessagesTest < Skep::TestCase
  Swarm = Skep::Swarm
  Messages = Swarm::IPC::Messages
  DURATIONS = { "count" => 2, "sum" => 0.5, "buckets" => [[0.1, 1], [0.4, 1]] }.freeze
  # What the supervisor would calculate with.
  BAD_WORK = {
    "nil" => nil, "an integer" => 3, "an array" => [1], "true" => true, "a text" => "x",
    "totals that are nil" => { totals: nil }, "totals that are no Hash" => { totals: [1] },
    "a total that is a text" => { totals: { a: "1" } },
    "a total that is nil" => { totals: { a: nil } },
    "a total that is infinite" => { totals: { a: Float::INFINITY } },
    "a total that is no number" => { totals: { a: Float::NAN } },
    "a total that overflows a sum" => { totals: { a: 1.7e308 } },
    "a total of more than 64 bits" => { totals: { a: 10**30 } },
    "a total that is rational" => { totals: { a: 1r } },
    "more totals than there is room for" => { totals: (0..64).to_h { |n| [n, n] } },
    "a handler that is a text" => { handler: "long" },
    "a handler without buckets" => { handler: { count: 3, sum: 0.5 } },
    "buckets of nothing" => { handler: { count: 3, sum: 0.5, buckets: [[0, 2]] } },
    "a bucket below zero" => { handler: { count: 2, sum: 0.5, buckets: [[-1, 2]] } },
    "a bucket of 1e300 s" => { handler: { count: 2, sum: 0.5, buckets: [[1e300, 2]] } },
    "a bucket that is no pair" => { handler: { count: 2, sum: 0.5, buckets: [[1]] } },
    "an infinite sum" => { handler: { count: 1, sum: Float::INFINITY, buckets: [[0.1, 1]] } },
    "topics by name" => { by_topic: { orders: { totals: {} } } },
    "a topic that is a text" => { by_topic: ["orders"] },
    "a topic without a name" => { by_topic: [{ totals: {}, handler: DURATIONS }] },
    "a topic without totals" => { by_topic: [{ topic: "orders", handler: DURATIONS }] },
    "a topic without handler times" => { by_topic: [{ topic: "orders", totals: {} }] }
  }.freeze
  # Type, and fields that a node that was taken over may write.
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
    ["ask", {}], ["ask", { "number" => 2**70 }],
    ["unknown", {}], ["exited", { "page_index" => 1, "pid" => 1 }]
  ].freeze
  FORK = { "page_index" => 0, "node" => 0, "task" => 0, "mold" => 1, "placed" => true,
           "suspects" => [] }.freeze
  # What a mold, a node and the supervisor may not send either.
  BAD_ELSEWHERE = {
    "TO_MOLD" => [["load", { "mold" => 1 }], ["prepare", { "options" => [] }], ["exited", {}],
                  ["fork", { **FORK, "page_index" => -1 }], ["fork", { **FORK, "task" => "0" }],
                  ["fork", { **FORK, "spare" => 1 }], ["fork", { **FORK, "placed" => nil }],
                  ["fork", { **FORK, "suspects" => [{ "in_flight" => "x" }] }]],
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
    @said = []
    @node = Swarm::Node.new(id: 0, swarm: "test", mold: 0, page: @page, layout: @layout,
                              report: ->(type, facts) { @said << [type, facts] })
  end

  def teardown
    @node.leave
    @page.close
    super
  end

  BAD_WORK.each do |what, facts|
    test "refuses a work that is #{what} in the caller's line" do
      refused(/\Awork=: (?:facts|totals|handler|by_topic)\b.* must/) { @node.work = facts }
      refused(/\Awork=: /) { @node.thread(1).work = facts }
    end
  end

  BAD_FRAMES.each do |type, fields|
    test "refuses the message #{type} with #{fields.inspect[0, 60]} where it is received" do
      frame = Swarm::IPC::Channel::Message.new(type, fields, [])
      assert_raises(Messages::Invalid) { Messages::FROM_NODE.incoming(frame) }
    end
  end

  BAD_ELSEWHERE.each do |name, frames|
    table = Messages.const_get(name)

    frames.each_with_index do |(type, fields), i|
      test "refuses bad message #{i} from #{table.from} to #{table.to}, a #{type}" do
        frame = Swarm::IPC::Channel::Message.new(type, fields, [])
        assert_raises(Messages::Invalid) { table.incoming(frame) }
        refute table.valid?(type, fields)
      end
    end
  end

  test "takes the fields of a table, and no others" do
    frame = Swarm::IPC::Channel::Message.new("fork", { **FORK, "more" => 1 }, [:socket], 40)
    read = Messages::TO_MOLD.incoming(frame)
    assert_equal({ **FORK, "spare" => nil }, read.facts)
    assert_equal ["fork", [:socket], 40], [read.type, read.ios, read.bytes]
  end

  test "knows what a crash suspect is, as the supervisor sends it" do
    suspects = Swarm::IPC::CrashSuspects.new
    suspects.record_crash([["orders/0/17-42", 25], ["a", nil]], 3, 1.5)
    plain = JSON.parse(JSON.generate(suspects.to_plain))
    frame = Swarm::IPC::Channel::Message.new("suspects", { "added" => plain }, [])
    assert_equal plain, Messages::TO_NODE.incoming(frame)["added"]
  end

  test "has every message that is sent, and no other" do
    lib = File.expand_path("../../../lib/skep", __dir__)
    files = Dir.glob("#{lib}/{swarm,control,cli/chaos}/**/*.rb")
    code = files.map { |file| File.read(file, encoding: "UTF-8") }.join
    sent = code.gsub(/^\s*#.*/, "").scan(/\b(?:post|report(?:\.call)?)\(\s*"(\w+)"/).flatten
    assert_equal Messages::ALL.flat_map(&:types).uniq.sort, sent.uniq.sort
  end

  test "passes on what is fit, as plain data" do
    @node.work = { totals: { jobs: 3, share: 0.5 }, handler: DURATIONS, at: Time,
                    size: Float::INFINITY, odd: 2**80 }
    facts = @said.last.last["facts"]
    assert_equal({ "jobs" => 3, "share" => 0.5 }, facts["totals"])
    assert_equal ["Time", "Infinity", (2**80).to_s], facts.values_at("at", "size", "odd")
    frame = Swarm::IPC::Channel::Message.new("work", JSON.parse(JSON.generate(@said.last.last)),
                                             [], 9)
    heard = Messages::FROM_NODE.incoming(frame)
    assert_equal [facts, 9], [heard["facts"], heard.bytes]
  end

  test "makes the text of an event valid UTF-8, whatever its encoding" do
    ["\xFF\xFE job".b, "é".encode("UTF-16LE"), "é".encode("ISO-8859-1"), "\xFF",
     "a".dup.force_encoding("UTF-7"), "\xA4\xFF".dup.force_encoding("EUC-JP"), "é".b].each do |text|
      @node.unhealthy!(text)
      @node.event(:odd, text => [text, { text => [text] }])
      refute_includes texts(@said.last(2)).map(&:valid_encoding?), false
      JSON.generate(@said.last(2))
    end
    assert_equal "é", @said.last.last["facts"]["é"].first
  end

  test "shows an object that can't be shown by its class" do
    odd = Class.new { def inspect = raise(IOError) }
    @node.event(:odd, basic: BasicObject.new, odd: odd.new)
    assert_equal ["#<BasicObject>", "#<#{odd}>"], @said.last.last["facts"].values
  end

  test "refuses an event without a name, of no known level, too deep or too large" do
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
    assert_empty @said
  end

  test "refuses what isn't a reason, a flag, a number, a text or a duration" do
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

  test "shows what is in hand as valid UTF-8, whatever was written to the page" do
    node = Struct.new(:page_index).new(0)
    scoreboard = Swarm::IPC::Scoreboard::Reader.new(@page, @layout)
    @node.in_flight("\xFF\xFE job".b)
    @node.thread(1).in_flight("é".encode("UTF-16LE"))
    @page.write(@layout.of(0, thread: 2), "raw \xFF")
    assert_equal ["\uFFFD\uFFFD job", "é", "raw \uFFFD"], scoreboard.in_flight(node)
  end

  test "takes no weight that no node can have" do
    plain = Swarm::IPC::Scoreboard::MemorySample::BYTES.to_h { |name|
      [name, 1]
    }.merge("seconds" => 0.1)
    said = JSON.generate(plain)
    ["[1e999,#{said}]", "[#{Skep::OS.now + 60},#{said}]", "[-1.0,#{said}]", "[\"1\",#{said}]",
     "[1.0,#{said.sub('"rss":1', '"rss":1e999')}]", "[1.0,[1]]", "[1.0,3]", "5", "null", "\xFF",
     "[" * 200, "{}"].each do |text|
      @page.write(@layout.memory(0), text)
      verbose, $VERBOSE = $VERBOSE, nil # of floats that are too large
      assert_nil Swarm::IPC::Scoreboard::MemorySample.find(@page, @layout.memory(0))
    ensure
      $VERBOSE = verbose
    end
    @page.write(@layout.memory(0), JSON.generate([1.0, plain.merge("rss" => 10**80)]))
    assert_equal 2**53,
                 Swarm::IPC::Scoreboard::MemorySample.find(@page, @layout.memory(0)).last["rss"]
  end

  test "an error's sentence is text, whatever its message is" do
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
