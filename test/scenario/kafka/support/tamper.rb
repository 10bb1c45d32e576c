# frozen_string_literal: true

require "socket"

# What lies between a broker and its clients, and does harm to single answers. The broker advertises
# its port, and ends transactions that took too long within half a second.
#
#   tamper = Tamper.before(broker)           # started again for it
#   tamper.port
#   tamper.next(26, :cut)       # the broker has done it, its answer is never seen
#   tamper.next(26, :late)      # comes some seconds later
#   tamper.next(26, :unheard)   # the broker never sees it: the connection is cut
#   tamper.next(26, :swallowed) # its answer is never seen, and the connection goes on
#   tamper.next(26, :held)      # the answer waits for `cut` or `release`, however often it is asked
#   tamper.next(26, :kept)      # the request does
#   tamper.await                             # until it was done
#
# Requests are known by Kafka's number for them (26 is EndTxn) and who sends them, `client.id`.
class Tamper
  LATE = 1.5 # seconds
  REQUESTS = %i[unheard kept].freeze # deeds that are done before the broker sees it
  LASTING = %i[held kept].freeze # those that are done again when it is asked again

  attr_reader :port
  attr_reader :harmed # how often

  def self.before(broker, **options)
    new(broker.port, **options).tap do |tamper|
      broker.reconfigure do |text|
        text.sub(/^(advertised\.listeners=.*):\d+$/, "\\1:#{tamper.port}") +
          "transaction.abort.timed.out.transaction.cleanup.interval.ms=500\n"
      end
    end
  end

  # broker: its port.
  def initialize(broker, client: "skep")
    @broker, @client = broker, client
    @server = TCPServer.new("127.0.0.1", 0)
    @port = @server.addr[1]
    @lock = Mutex.new
    @moved = ConditionVariable.new
    @harmed = 0
    @accept = Thread.new { loop { serve(@server.accept) } }
    @accept.report_on_exception = false # it ends with the server
  end

  def next(request, deed)
    @lock.synchronize { @plan, @done, @verdict = [request, deed], nil, nil }
  end

  # Until the deed is done, or at least begun; nil at the deadline.
  def await(seconds = 30) = wait(seconds) { @done }

  def release = decide(:release)
  def cut = decide(:cut)

  def close
    @accept.kill.join
    @server.close
  end

  private

  def decide(verdict)
    @lock.synchronize do
      @verdict = verdict
      @plan = nil
      @moved.broadcast
    end
  end

  def wait(seconds)
    deadline = Skep::OS.now + seconds
    @lock.synchronize do
      until (found = yield) || (left = deadline - Skep::OS.now).negative?
        @moved.wait(@lock, left)
      end
      found
    end
  end

  def serve(client)
    broker = TCPSocket.new("127.0.0.1", @broker)
    ends = [client, broker]
    ends.each { |socket| socket.setsockopt(:TCP, :NODELAY, true) }
    due = {}
    lock = Mutex.new
    pump(ends, client, broker) { |frame| lock.synchronize { ask(frame, due) } }
    pump(ends, broker, client) { |frame| lock.synchronize { due.delete(frame.unpack1("N")) } }
  rescue SystemCallError # the broker is away
    client.close
  end

  # Passes frames on; the block says what is to be done to one.
  def pump(ends, from, to)
    Thread.new do
      while (size = from.read(4)) && (frame = from.read(size.unpack1("N")))
        deed = carry_out(yield(frame))
        break if deed == :cut

        to.write(size, frame) unless deed == :swallowed
      end
    rescue IOError, SystemCallError # the other one is closed
      nil
    ensure
      ends.each { |socket| hang_up(socket) }
    end
  end

  def hang_up(socket)
    socket.shutdown
  rescue IOError, SystemCallError # it is closed already
    nil
  end

  # Gives what is to be done to the request itself; what is to be done to its answer is noted.
  def ask(frame, due)
    key, _, number, size = frame.unpack("nnNs>")
    deed = @lock.synchronize do
      planned, deed = @plan
      next unless planned == key && frame[10, [size, 0].max] == @client

      @plan = nil unless LASTING.include?(deed)
      deed
    end
    return deed if REQUESTS.include?(deed)

    due[number] = deed if deed
    nil
  end

  def carry_out(deed)
    note(deed) if deed
    case deed
    when :cut, :unheard then :cut
    when :swallowed then :swallowed
    when :late then wait(LATE) { nil }
    when :held, :kept then wait(60) { @verdict }
    end
  end

  def note(deed)
    @lock.synchronize do
      @harmed += 1 unless @done
      @done = deed
      @moved.broadcast
    end
  end
end
