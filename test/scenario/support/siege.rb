# frozen_string_literal: true

require "json"
require "socket"

# Clients of a status socket that mean no good, in a process of their own, until a moment.
#
#   siege = Siege.new("/run/skep/a.sock", Skep::OS.now + 5.0, seed: 7)
#   siege.wait      # => { "storm" => 20_000, … }: how often each got in and did its worst
#
# None of them knows a command that it has the right to: what happens to the swarm is its failure.
class Siege
  KINDS = %i[garbage wrong deep partial storm crowd flood slow deaf bytewise].freeze
  HELD = 24 # connections that one kind keeps open
  PIECE = "x" * 65_536
  WRONG = ['{"command":"scale","nodes":%s}', '{"command":"restart","node":%s}',
           '{"command":"upgrade","program":%s}', '{"command":%s}', '{"command":"chaos","node":%s}',
           '{"v":%s}', '{"command":"restart","node":{"a":%s}}', "[%s]"].freeze
  FACTS = ["null", "-1", "1e400", "9" * 20_000, "0.5", '"x"', '"\u0000"', '["/\u0000","/b"]',
           '["/bin","/etc"]', "{}", "[[]]", "true", "\"\xFF\xC3\"", '"\ud800"', "NaN", "1e-400",
           "\"#{"y" * 60_000}\"", '{"command":"stop"}', "\u202E"].map(&:b).freeze
  private_constant :KINDS, :HELD, :PIECE, :WRONG, :FACTS

  def initialize(path, ends, seed:)
    @path = path
    @ends = ends
    @seed = seed
    @reader, writer = IO.pipe
    @pid = fork do
      @reader.close
      writer.write(JSON.generate(besiege))
      exit!(0)
    end
    writer.close
  end

  def wait
    JSON.parse(@reader.read).tap { Process.wait(@pid) }
  ensure
    @reader.close
  end

  private

  def besiege
    KINDS.each_with_index.map do |kind, index|
      Thread.new { [kind, repeat(kind, Random.new(@seed + index))] }
    end.to_h(&:value)
  end

  def repeat(kind, random)
    held = []
    count = 0
    while Skep::OS.now < @ends
      count += 1 if attempt { send(kind, random, held) }
      attempt { held.shift.close } while held.size > HELD
    end
    count
  end

  # Dropped, no room: as it should be.
  def attempt
    yield
    true
  rescue SystemCallError, IOError
    false
  end

  def connect = Skep::Watch::Connection.open(@path, 0.5)

  def say(bytes, socket = connect)
    socket.write(bytes)
    socket.wait_readable(0.5) && socket.read
  ensure
    socket&.close
  end

  def garbage(random, _held) = say("#{random.bytes(random.rand(1..4096))}\n")
  def wrong(random, _held) = say("#{WRONG.sample(random:).b.sub("%s") { FACTS.sample(random:) }}\n")
  def storm(_random, _held) = connect.close

  def bytewise(_random, _held)
    socket = connect
    200.times { socket.write("[") }
  ensure
    socket&.close
  end

  def deep(random, _held)
    open, close = [["[", "]"], ['{"a":', "}"]].sample(random:)
    depth = random.rand(1..10_000)
    say("#{'{"command":' if random.rand < 0.5}#{open * depth}1#{close * depth}\n")
  end

  # A part of a request, and then nothing, or the rest of another.
  def partial(random, held)
    held << connect.tap { |one| one.write('{"v":1,"command":"sta') }
    held.sample(random:).write('tus"}') if random.rand < 0.5
  end

  # As many as there are, none of which waits for its turn.
  def crowd(_random, _held)
    crowd = []
    1000.times { attempt { crowd << Skep::Watch::Connection.try(@path) } }
  ensure
    crowd.each(&:close)
  end

  # 100 MB, if it is let.
  def flood(_random, _held)
    socket = connect
    attempt { 1600.times { socket.write(PIECE) } }
  ensure
    socket&.close
  end

  # An answer that isn't read.
  def slow(_random, held) = held << connect.tap { |one| one.write(%({"command":"status"}\n)) }

  # Events that aren't read.
  def deaf(_random, held)
    held << connect.tap { |one| one.write(%({"command":"follow"}\n)) }
    held.last.wait_readable(0.2)
  end
end
