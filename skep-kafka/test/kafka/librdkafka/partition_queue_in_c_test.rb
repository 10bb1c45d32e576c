# frozen_string_literal: true

require "test_helper"
require "open3"
require "rbconfig"
require "tmpdir"

# The C extension with a fake librdkafka. Each program runs in its own process.
class PartitionQueueInCTest < Skep::TestCase
  FAKE = File.expand_path("../support/fake_librdkafka.c", __dir__)
  BEGIN_WITH = <<~'RUBY'
    require "fiddle"
    require "skep/kafka"
    module Skep::Kafka
      LIBRARY = Fiddle.dlopen(ENV.fetch("FAKE"))
      POINTER, INT, LONG = Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT, Fiddle::TYPE_LONG
      PUSH = Fiddle::Function.new(LIBRARY["push"], [INT, LONG, LONG], POINTER)
      RESIZE = Fiddle::Function.new(LIBRARY["resize"], [POINTER, LONG, LONG], Fiddle::TYPE_VOID)
      LIVE = Fiddle::Pointer.new(LIBRARY["live"])
      def self.push(err, payload = -1, key = -1) = PUSH.call(err, payload, key)
      def self.live = LIVE[0, 4].unpack1("l")
      Librdkafka::PartitionQueue.bind(ENV.fetch("FAKE")) if Librdkafka::PartitionQueue.native?
      require "ffi"
      module Librdkafka::Bindings
        extend FFI::Library
        ffi_lib ENV.fetch("FAKE")
        Functions.each do |name, function, parameters, result, _|
          attach_function name, function, parameters, result
        rescue FFI::NotFoundError
        end
      end
      require "skep/kafka/librdkafka/bindings/structs"
      def self.reader(limit = 10)
        Librdkafka::PartitionQueue.new(FFI::Pointer::NULL, "orders", 7, limit)
      end
  RUBY
  OUT_OF_MEMORY = <<~'RUBY'
    push(0, 1, 1)
    huge = push(0, 2, 1)
    RESIZE.call(huge, *(ENV["KEY"] ? [2, 1 << 62] : [1 << 62, 1]))
    reader = reader()
    begin
      reader.read(10)
    rescue NoMemoryError => e
      puts "#{e.class} #{live}"
    end
    RESIZE.call(huge, 2, 1)
    message_set, _, count = reader.read(10)
    puts "#{message_set.map { |message| message.payload.size }} #{count} #{live}"
  RUBY
  private_constant :FAKE, :BEGIN_WITH, :OUT_OF_MEMORY

  def setup
    skip "the fallback has no C" if ENV["SKEP_PURE"] == "1"
    @dir = Dir.mktmpdir
    flags = asan? ? ["-fsanitize=address"] : []
    text, status = Open3.capture2e({ "LD_PRELOAD" => nil }, "cc", "-shared", "-fPIC", *flags, "-o",
                                   fake, FAKE)
    skip "the fake can't be built: #{text.lines.last}" unless status.success?
  rescue Errno::ENOENT
    missing "a C compiler"
  end

  def teardown
    FileUtils.rm_rf(@dir) if @dir
  end

  test "separates messages from errors, and returns all events to librdkafka" do
    assert_equal <<~TEXT, run_on_fake(<<~'RUBY')
      3 2 5 true
      [0, 3, 4]
      ["ppp", nil, ""]
      [nil, "", "kk"]
      [7, 7, 7]
      [[-185, "Local: something", 1], [3, "pppp", 2]]
      live 0
    TEXT
      push(0, 3, -1)
      push(-185, -1)
      push(3, 4)
      push(0, -1, 0)
      push(0, 0, 2)
      message_set, errors, count = reader.read(10)
      puts [message_set.size, errors.size, count, message_set.is_a?(Librdkafka::MessageSet)].join(" ")
      p message_set.map(&:offset), message_set.map(&:payload), message_set.map(&:key), message_set.map(&:partition)
      p errors
      puts "live #{live}"
    RUBY
  end

  test "reads a message without a timestamp, and one with unreadable headers" do
    assert_equal "[1234567890123, -1, 1234567890123]\n[{}, {}, {}]\nnil\n", run_on_fake(<<~'RUBY')
      3.times { push(0, 1, 1) }
      message_set, = reader.read(10)
      p message_set.map(&:milliseconds), message_set.map(&:headers), message_set.to_a[1].timestamp
    RUBY
  end

  { "loses no message when memory runs out" => {},
    "loses no message when memory runs out for all but its payload" => { "KEY" => "1" },
    "loses no message in the fallback when memory runs out" =>
      { "SKEP_PURE" => "1" } }.each do |name, env|
    test name do
      assert_equal "NoMemoryError 2\n[1, 2] 2 0\n", run_on_fake(OUT_OF_MEMORY, env)
    end
  end

  test "close returns unread events to librdkafka; garbage collection doesn't" do
    assert_equal "2\n2\n1\n", run_on_fake(<<~'RUBY')
      def self.fill
        RESIZE.call(push(0, 2, 1), 1 << 62, 1)
        reader = self.reader
        reader.read(1)
      rescue NoMemoryError
        reader
      end
      fill and nil
      kept = fill
      p live
      GC.start
      p live
      kept.close
      p live
    RUBY
  end

  test "copies a large message set while other threads run" do
    assert_equal "[2000000, 2000000, 2000000] true 0\n", run_on_fake(<<~'RUBY')
      3.times { push(0, 2_000_000, 1) }
      storm = Thread.new { loop { Thread.main.wakeup } }
      message_set, = reader.read(10)
      storm.kill.join
      same = message_set.payloads.all? { |payload| payload == "p" * 2_000_000 }
      puts "#{message_set.payloads.map(&:size)} #{same} #{live}"
    RUBY
  end

  test "the payloads of a large message share their bytes until one is changed" do
    assert_equal <<~TEXT, run_on_fake(<<~'RUBY')
      true [100000, 20, 100000]
      100001 [100000, 20, 100000] 100000
      true true 0
    TEXT
      require "objspace"
      [100_000, 20, 100_000].each { |size| push(0, size, 1) }
      message_set, = reader.read(10)
      changed, _, kept = message_set.to_a
      shares = ObjectSpace.memsize_of(kept.payload) < 1_000
      puts "#{shares} #{message_set.payloads.map(&:size)}"
      changed.payload << "x"
      size = changed.payload.size
      changed.__reset_strings
      puts "#{size} #{message_set.payloads.map(&:size)} #{changed.payload.size}"
      all_bytes = message_set.bytes > 200_020
      kept = kept.payload
      message_set = changed = nil
      GC.start
      GC.compact if GC.respond_to?(:compact)
      push(0, 100_000, 1)
      reader.read(10)
      puts "#{all_bytes} #{kept == "p" * 100_000} #{live}"
    RUBY
  end

  test "memory doesn't grow over 300 reads" do
    assert_equal "true 0\n", run_on_fake(<<~'RUBY')
      reader = self.reader
      sizes = (0...300).map do |n|
        push(0, 1_000_000, 1)
        message_set, = reader.read(10)
        message_set.each(&:payload)
        message_set.each(&:key)
        File.read("/proc/self/statm").split[1].to_i * 4096
      end
      puts "#{sizes.max < 150_000_000} #{live}"
    RUBY
  end

  test "messages stay valid in nested and abandoned loops while the heap is compacted and dumped" do
    assert_equal "true 0\n", run_on_fake(<<~'RUBY')
      require "objspace"
      GC.auto_compact = true if GC.respond_to?(:auto_compact=)
      kept = []
      abandoned = []
      40.times do |n|
        10.times { push(0, 20, 2) }
        message_set, = reader.read(10)
        abandoned << message_set.each.tap { |each| n.times.first(3).each { each.next } }
        message_set.each do |message|
          message_set.each { |other| kept << other if other.offset == message.offset && n.odd? }
          break if n % 3 == 0
        end
        abandoned.shift if n.even?
        Array.new(500) { "garbage" * 9 }
        File.open("/dev/null", "w") { |null| ObjectSpace.dump_all(output: null) } if n % 10 == 0
        GC.start if n % 7 == 0
      end
      abandoned.clear
      GC.start
      good = kept.all? { |message| [message.payload, message.key] == ["p" * 20, "kk"] }
      puts "#{good && kept.size > 100} #{live}"
    RUBY
  end

  test "messages stay valid if a continuation enters their loop again" do
    assert_equal "6 700 true\n", run_on_fake(<<~'RUBY')
      warned, $VERBOSE = $VERBOSE, nil
      require "continuation"
      $VERBOSE = warned
      200.times { push(0, 20, 2) }
      message_set, = reader(200).read(200)
      kept = []
      back = nil
      times = 0
      message_set.each do |message|
        kept << message
        callcc { |here| back = here } if message.offset == 99
      end
      back.call if (times += 1) < 6
      GC.start
      good = kept.all? { |message| [message.payload, message.key] == ["p" * 20, "kk"] }
      puts "#{kept.map(&:offset).tally.fetch(199)} #{kept.size} #{good}"
    RUBY
  end

  test "raises if librdkafka lacks a function" do
    assert_equal "nowhere\nlibrdkafka has no rd_kafka_consume_batch_queue\n", run_on_fake(<<~'RUBY')
      ["/nowhere.so", "libc.so.6"].each do |path|
        Librdkafka::PartitionQueue.bind(path)
      rescue LoadError => e
        puts e.message[/nowhere|librdkafka.*/]
      end
    RUBY
  end

  private

  def fake = "#{@dir}/fake_librdkafka.so"
  def asan? = ENV["LD_PRELOAD"].to_s.include?("asan")

  # By default the sanitizer aborts a program that allocates too much, and keeps freed memory.
  def lenient
    return {} unless asan?

    { "ASAN_OPTIONS" => "#{ENV["ASAN_OPTIONS"]}:allocator_may_return_null=1:quarantine_size_mb=1" }
  end

  # Runs a program within Skep::Kafka, with the fake librdkafka. Returns what it prints.
  def run_on_fake(body, env = {})
    env = { "FAKE" => fake, **lenient, **env }
    out, err, status = run_program("#{BEGIN_WITH}#{body}end\n", env:, gems: true)
    assert_empty err.lines.grep_v(/AddressSanitizer failed to allocate|HINT: if you don't care/)
    assert_predicate status, :success?
    out
  end
end
