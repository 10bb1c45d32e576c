# frozen_string_literal: true

require "socket"

# A proxy between a broker and its clients that injects a fault into a single request or response.
# The broker advertises the proxy's port. It aborts timed out transactions within half a second.
#
#   proxy = FaultyProxy.before(broker)   # restarts the broker
#   proxy.port
#   proxy.inject(26, :answer_cut)      # cuts the connection instead of passing on the response
#   proxy.inject(26, :answer_late)     # delays the response
#   proxy.inject(26, :answer_dropped)  # drops the response; the connection stays open
#   proxy.inject(26, :answer_held)     # holds the response, also of retries, until `cut`, `release`
#   proxy.inject(26, :request_cut)     # cuts the connection before the broker gets the request
#   proxy.inject(26, :request_held)    # holds the request, also retries, until `cut` or `release`
#   proxy.await                        # waits until the fault occurs
#
# The proxy selects requests by their api key (26 is EndTxn) and their sender's `client.id`.
class FaultyProxy
  LATE = 1.5 # seconds
  REQUESTS = %i[request_cut request_held].freeze # faults before the broker gets the request
  LASTING = %i[answer_held request_held].freeze # faults that affect retries, too

  attr_reader :port
  attr_reader :fault_count

  def self.before(broker, **options)
    new(broker.port, **options).tap do |proxy|
      broker.reconfigure do |text|
        text.sub(/^(advertised\.listeners=.*):\d+$/, "\\1:#{proxy.port}") +
          "transaction.abort.timed.out.transaction.cleanup.interval.ms=500\n"
      end
    end
  end

  # broker: the broker's port.
  def initialize(broker, client: "skep")
    @broker, @client = broker, client
    @server = TCPServer.new("127.0.0.1", 0)
    @port = @server.addr[1]
    @lock = Mutex.new
    @changed = ConditionVariable.new
    @fault_count = 0
    @accept = Thread.new { loop { serve(@server.accept) } }
    @accept.report_on_exception = false # `close` ends it
  end

  def inject(request, fault)
    @lock.synchronize { @plan, @injected, @decision = [request, fault], nil, nil }
  end

  # Waits until the fault occurs, or begins. Returns nil at the deadline.
  def await(seconds = 30) = wait(seconds) { @injected }

  def release = decide(:release)
  def cut = decide(:cut)

  def close
    @accept.kill.join
    @server.close
  end

  private

  def decide(decision)
    @lock.synchronize do
      @decision = decision
      @plan = nil
      @changed.broadcast
    end
  end

  def wait(seconds)
    deadline = Skep::OS.now + seconds
    @lock.synchronize do
      until (found = yield) || (left = deadline - Skep::OS.now).negative?
        @changed.wait(@lock, left)
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
    pump(ends, client, broker) { |frame| lock.synchronize { request_fault(frame, due) } }
    pump(ends, broker, client) { |frame| lock.synchronize { due.delete(frame.unpack1("N")) } }
  rescue SystemCallError # the broker is down
    client.close
  end

  # Passes frames on. The block returns the fault for a frame, or nil.
  def pump(ends, from, to)
    Thread.new do
      while (size = from.read(4)) && (frame = from.read(size.unpack1("N")))
        action = carry_out(yield(frame))
        break if action == :cut

        to.write(size, frame) unless action == :drop
      end
    rescue IOError, SystemCallError # the other socket is closed
      nil
    ensure
      ends.each { |socket| hang_up(socket) }
    end
  end

  def hang_up(socket)
    socket.shutdown
  rescue IOError, SystemCallError # the socket is already closed
    nil
  end

  # Returns the fault for the request itself. Remembers a fault for its response in due.
  def request_fault(frame, due)
    key, _, number, size = frame.unpack("nnNs>")
    fault = @lock.synchronize do
      planned, fault = @plan
      next unless planned == key && frame[10, [size, 0].max] == @client

      @plan = nil unless LASTING.include?(fault)
      fault
    end
    return fault if REQUESTS.include?(fault)

    due[number] = fault if fault
    nil
  end

  # Waits as the fault demands. Returns :cut, :drop, or something else to pass the frame on.
  def carry_out(fault)
    count(fault) if fault
    case fault
    when :answer_cut, :request_cut then :cut
    when :answer_dropped then :drop
    when :answer_late then wait(LATE) { nil }
    when :answer_held, :request_held then wait(60) { @decision }
    end
  end

  def count(fault)
    @lock.synchronize do
      @fault_count += 1 unless @injected
      @injected = fault
      @changed.broadcast
    end
  end
end
