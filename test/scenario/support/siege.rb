# frozen_string_literal: true

require "json"
require "socket"

# Hostile clients of a control socket, in a separate process, until a given time.
#
#   siege = Siege.new("/run/skep/a.sock", Skep::OS.now + 5.0, seed: 7)
#   siege.wait      # => { "storm" => 20_000, … }: how often each kind connected
#
# None of them sends a valid command: any effect on the swarm is a bug.
class Siege
  KINDS = %i[garbage wrong deep partial storm crowd flood slow deaf bytewise].freeze
  HELD = 24 # connections that one kind keeps open
  PIECE = "x" * 65_536
  WRONG = ['{"command":"scale","nodes":%s}', '{"command":"restart","node":%s}',
           '{"command":%s}', '{"command":"chaos","node":%s}', '{"v":%s}',
           '{"command":"restart","node":{"a":%s}}', "[%s]"].freeze
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

  # A refused connection is expected.
  def attempt
    yield
    true
  rescue SystemCallError, IOError
    false
  end

  def connect = Skep::Control::Connection.connect(@path, 0.5).to_io

  def request(bytes, socket = connect)
    socket.write(bytes)
    socket.wait_readable(0.5) && socket.read
  ensure
    socket&.close
  end

  def garbage(random, _held) = request("#{random.bytes(random.rand(1..4096))}\n")

  def wrong(random, _held)
    request("#{WRONG.sample(random:).b.sub("%s") { FACTS.sample(random:) }}\n")
  end

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
    request("#{'{"command":' if random.rand < 0.5}#{open * depth}1#{close * depth}\n")
  end

  # Sends half a request, then nothing, or the rest of another.
  def partial(random, held)
    held << connect.tap { |one| one.write('{"v":1,"command":"sta') }
    held.sample(random:).write('tus"}') if random.rand < 0.5
  end

  # Opens as many connections as possible, without waiting.
  def crowd(_random, _held)
    crowd = []
    1000.times { attempt { crowd << Skep::Control::Connection.connect_nonblock(@path).to_io } }
  ensure
    crowd.each(&:close)
  end

  # Sends 100 MB, unless the swarm closes the connection.
  def flood(_random, _held)
    socket = connect
    attempt { 1600.times { socket.write(PIECE) } }
  ensure
    socket&.close
  end

  # Never reads its answer.
  def slow(_random, held) = held << connect.tap { |one| one.write(%({"command":"status"}\n)) }

  # Never reads its events.
  def deaf(_random, held)
    held << connect.tap { |one| one.write(%({"command":"follow"}\n)) }
    held.last.wait_readable(0.2)
  end
end
