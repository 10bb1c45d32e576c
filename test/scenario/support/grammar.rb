# frozen_string_literal: true

require "json"

# Random values that user code may pass to `node`, and random frames that a broken node may write to
# its channel: of all types, encodings, sizes and depths, drawn from a seed.
#
#   grammar = Grammar.new(Random.new(42))
#   grammar.value          # any Ruby value
#   grammar.facts          # a Hash of such values
#   grammar.work           # a Hash that is almost valid for `node.work =`
#   grammar.frame          # bytes: almost a frame of Skep::Swarm::IPC::Channel
#   grammar.message(FROM_NODE)   # bytes: a message of that table, random in all that it leaves open
#
# The same seed gives the same values, in the same order.
class Grammar
  ENCODINGS = %w[UTF-8 BINARY US-ASCII ISO-8859-1 UTF-16LE UTF-16BE UTF-32LE UTF-7 EUC-JP Shift_JIS
                 ISO-2022-JP GB18030 Windows-1252 Emacs-Mule].freeze
  TEXTS = ["", "a", "é", "orders/0/17-42", "\0", "\e[31mred\e[0m", "\u2028\u{1F600}", "a\nb\tc\"\\",
           "redis://u:hunter2@host", "%s%n{}", "\u0000-\u001f", "null", "1e400", "\#{x}"].freeze
  NUMBERS = [0, -1, 1, 2, 64, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**18, 10**19, 10**30, 10**400,
             0.0, -0.0, 0.5, -1.5, 1e-320, 1e18, 1e300, 1.7e308, -1.7e308, Float::NAN, Float::INFINITY,
             -Float::INFINITY, 1r, Rational(-1, 3), 1i].freeze
  KEYS = %w[totals handler kind group topics topic partition partitions held lag position end rate
            messages retries dead_letters skipped rebalances done left_out count sum buckets p50 p99
            node pid mold swarm event level time mono seq v name facts threads tasks thread status
            backtrace message error reason seconds in_flight at work nodes work_bytes].freeze
  TYPES = %w[ready warm leaving healthy became_mold event assigned unhealthy work failed replace
             finished lines profile clears_suspects
             suspects_resolved backtraces unfit spare stepped_in ask loaded refused pong forked
             fork_failed exited stop fork load answer measure unknown].freeze
  # What skep itself looks at, in messages of nodes.
  WORDS = %w[info warn unfit another_process main skep.block.worker.1].freeze
  OWN = %w[at why pid error reason threads kind].freeze
  FIELDS = %w[name level facts assigned reason sentence backtrace refused suspects blamed threads
              node seconds number slot pid exitstatus signal error options tasks events].freeze
  NAMES = %i[odd huge node_died restart_started reload_failed].freeze
  LEVELS = ["debug", "info", "warn", "error", :warn, :loud, nil].freeze
  MOST = 200_000 # values in a frame
  DEEPEST = 1_000
  DEPTHS = [20, 29, 30, 31, 33, 5_000].freeze
  ESCAPED = "\u0000-\u001f\"\\\\"
  private_constant :MOST, :DEEPEST, :DEPTHS, :ESCAPED
  private_constant :ENCODINGS, :TEXTS, :NUMBERS, :KEYS, :TYPES, :FIELDS, :NAMES, :LEVELS, :WORDS,
                   :OWN

  def initialize(random)
    @random = random
  end

  def value(depth = 0)
    case @random.rand(depth > 4 ? 8 : 12)
    when 0..2 then text
    when 3..5 then number
    when 6, 7 then [nil, true, false, :symbol, odd].sample(random: @random)
    when 8, 9 then Array.new(size) { value(depth + 1) }
    else facts(depth + 1)
    end
  end

  def facts(depth = 0)
    return extreme if depth.zero? && one_in(30)

    Array.new(size) { [one_in(3) ? key : KEYS.sample(random: @random), value(depth + 1)] }.to_h
  end

  def work
    facts = one_in(3) ? self.facts : {}
    facts = facts.merge("totals" => totals) if one_in(2)
    facts = facts.merge(handler: handler) if one_in(2)
    kafka = { "kind" => "kafka", "group" => one_in(4) ? value : "g", "partitions" => rows }
    facts = facts.merge(kafka) if one_in(3)
    one_in(6) ? value : facts
  end

  def level = LEVELS.sample(random: @random)
  def name = one_in(3) ? value : NAMES.sample(random: @random)
  def one_in(times) = @random.rand(times).zero?
  def number = NUMBERS.sample(random: @random)

  def text
    case @random.rand(10)
    when 0..4 then TEXTS.sample(random: @random)
    when 5, 6 then @random.bytes(@random.rand(40)).force_encoding(ENCODINGS.sample(random: @random))
    when 7 then TEXTS.sample(random: @random).dup.force_encoding(ENCODINGS.sample(random: @random))
    when 8 then TEXTS.sample(random: @random) * @random.rand(500)
    else "x" * [437, 438, 439, 16_383, 16_385, 70_000].sample(random: @random)
    end
  end

  # Returns bytes for the channel.
  def frame
    case @random.rand(16)
    when 0 then @random.bytes(@random.rand(200))
    when 1 then header("{}", version: @random.rand(256))
    when 2 then header("x" * 10, size: @random.rand(2**32))
    when 3 then header("[" * [10, 101, 100_000, 4_000_000].sample(random: @random))
    when 4 then header(json(value))
    when 5 then header("[\"work\",#{"{\"a\":" * 200}1#{"}" * 200}]")
    when 6 then header("[\"event\",{\"name\":\"\\ud800\",\"facts\":{\"\xFF\":\"\xFE\"}}]")
    when 7 then header(json([type, fields]), ios: @random.rand(4))
    when 8 then header(json([type, fields])).byteslice(0, @random.rand(40))
    when 9 then header(json([type, fields]))[0, 40_000] * @random.rand(50)
    else header(json([type, fields]))
    end
  end

  # table: of Skep::Swarm::IPC::Messages. A node that sends such messages isn't ended for it.
  def message(table, type = table.types.sample(random: @random))
    fields = table.rows.fetch(type).fields.map { |name, field| "\"#{name}\":#{fitting(field)}" }
    header("[\"#{type}\",{#{fields.join(",")}}]")
  end

  # Returns almost valid fields of a message.
  def fields
    fields = { "name" => one_in(5) ? value : "odd", "level" => one_in(5) ? value : "info",
               "facts" => one_in(2) ? work : facts, "assigned" => one_in(5) ? value : one_in(2),
               "reason" => one_in(5) ? value : "x", "sentence" => one_in(5) ? value : "x",
               "refused" => false, "blamed" => one_in(5) ? value : one_in(2),
               "suspects" => one_in(3) ? value : [["x", nil], ["y", number]],
               "threads" => one_in(3) ? value : [{ "thread" => value, "backtrace" => ["x"] }],
               "node" => one_in(3) ? value : @random.rand(6), "seconds" => one_in(3) ? value : 0.5,
               "number" => number, "slot" => @random.rand(6), "pid" => @random.rand(4),
               "error" => "x" }
    one_in(4) ? fields.except(*FIELDS.sample(3, random: @random)) : fields
  end

  private

  # Returns the JSON of a value that the field allows.
  def fitting(field)
    loop do
      text = json(candidate).force_encoding(Encoding::UTF_8)
      next unless text.valid_encoding?

      return text if field.rule === JSON.parse("[#{text}]", max_nesting: 50).first
    rescue JSON::ParserError
      next
    end
  end

  def candidate
    case @random.rand(14)
    when 0 then value
    when 1 then facts(1)
    when 2 then facts(1).merge(OWN.to_h { |key| [key, value] })
    when 3 then work
    when 4 then text
    when 5..8 then WORDS.sample(random: @random)
    when 9 then number
    when 10, 11 then one_in(2)
    else list
    end
  end

  # Of threads, lines, items or texts.
  def list
    kind = @random.rand(4)
    Array.new(1 + @random.rand(3)) do
      case kind
      when 0 then thread
      when 1 then [@random.rand(3), text]
      when 2 then [text, nil]
      else text
      end
    end
  end

  def thread
    facts = { "name" => one_in(3) ? value : WORDS.sample(random: @random), "tid" => value,
              "status" => value, "backtrace" => one_in(4) ? value : [text] }
    one_in(3) ? facts.except("name") : facts
  end

  def type = one_in(20) ? value : TYPES.sample(random: @random)
  def key = [text, number, nil, true, :symbol, [1]].sample(random: @random)
  def size = one_in(40) ? @random.rand(2_000) / 20 : @random.rand(4)

  def odd
    [Object.new, BasicObject.new, Class, Time.at(0), 1..2, $stdout, -> {}, Struct.new(:a).new(1),
     Class.new { def inspect = raise(IOError, "no") }.new].sample(random: @random)
  end

  # Returns facts that are too deep, too large or endless, or almost so.
  def extreme
    case @random.rand(6)
    when 0 then { "deep" => DEPTHS.sample(random: @random).times.reduce(1) { |held, _| [held] } }
    when 1 then { "endless" => [].tap { |one| one << one } }
    when 2 then { "wide" => Array.new([1_000, 100_000, 300_000].sample(random: @random), 1) }
    when 3 then { "large" => Array.new([60, 140, 300].sample(random: @random), "x" * 16_000) }
    when 4 then { "shared" => 25.times.reduce("x") { |held, _| [held, held] } }
    else (0..500).to_h { |number| ["key#{number}", number] }
    end
  end

  def totals
    return value if one_in(6)

    Array.new(one_in(10) ? 70 : @random.rand(4)) do |n|
      [one_in(3) ? key : "t#{n}", one_in(3) ? value : number]
    end.to_h
  end

  def handler
    return value if one_in(6)

    buckets = Array.new(@random.rand(4)) do
      one_in(6) ? value : [number, one_in(3) ? number : @random.rand(9)]
    end
    count = buckets.sum { |one| Array === one && Integer === one.last ? one.last : 0 }
    { "count" => one_in(4) ? number : count, "sum" => one_in(4) ? number : 0.5,
      one_in(9) ? key : "buckets" => buckets }
  end

  def rows
    return value if one_in(6)

    Array.new(@random.rand(4)) do |n|
      { "topic" => one_in(4) ? value : "orders", "partition" => one_in(4) ? value : n,
        "held" => true, "lag" => one_in(2) ? value : 3, "position" => one_in(2) ? value : 4,
        "handler" => handler,
        "rate" => one_in(2) ? value : 0.5, "messages" => one_in(2) ? value : 1 }
    end
  end

  def header(text, version: 1, size: text.bytesize, ios: 0)
    [size, version, ios].pack("NCC") << text.b
  end

  # Returns almost valid JSON: with numbers that JSON doesn't have, or that no float can hold.
  def json(value, depth = 0)
    @written = 0 if depth.zero?
    return "0" if (@written += 1) > MOST || depth > DEEPEST

    case value
    when Hash
      pairs = value.map { |key, held| "#{string("#{key}")}:#{json(held, depth + 1)}" }
      "{#{pairs.join(",")}}"
    when Array then "[#{value.first(MOST).map { |held| json(held, depth + 1) }.join(",")}]"
    when String then string(value)
    when Integer, true, false then value.to_s
    when Float then value.finite? ? value.to_s : ["1e999", "NaN", "-1e999"].sample(random: @random)
    else "null"
    end.b
  end

  def string(text)
    bytes = text.b
    return "\"#{bytes}\"".b if bytes.count(ESCAPED).zero?

    escaped = bytes.each_char.map do |one|
      one.count(ESCAPED).zero? ? one : format("\\u%04x", one.ord)
    end
    "\"#{escaped.join}\"".b
  end
end
