# frozen_string_literal: true

# Descriptors of the simulated kernel: socket pairs that carry bytes and descriptors, and handles on
# processes. A descriptor knows its owner; the kernel counts those of the supervisor.
module Simulation
  class Descriptor
    attr_reader :owner

    def initialize(kernel, owner)
      @kernel = kernel
      @owner = owner
      owner == :supervisor ? kernel.opened(self) : owner.descriptors << self
    end

    def to_io = self
    def fileno = 3
    def closed? = @closed ? true : false

    def close
      return if @closed

      @closed = true
      @kernel.closed(self)
      released
      nil
    end

    private

    def released = nil
  end

  # The descriptor of a pidfd: readable once the process is dead.
  class ProcessDescriptor < Descriptor
    attr_reader :process

    def initialize(kernel, owner, process)
      super(kernel, owner)
      @process = process
    end

    def readable? = !@process.running?
    def writable? = false
    def in_flight = Flight.new(->(owner) { ProcessDescriptor.new(@kernel, owner, @process) }, -> {})
    def inspect = "#<pidfd of #{@process.pid}>"
  end

  # A descriptor in a message: an owner receives it, or it is dropped.
  Flight = Struct.new(:receive, :drop)

  # The descriptors of a message, as Ruby's ancillary data.
  Rights = Struct.new(:ios) do
    def unix_rights = ios
  end

  # One end of a pair. Several processes may have it open, each with a descriptor.
  class Endpoint
    LIMIT = 100_000
    private_constant :LIMIT

    attr_reader :segments
    attr_accessor :peer, :references, :woken

    def initialize
      @segments = []
      @bytes = 0
      @references = 0
    end

    def room = @shut || @peer_gone ? 0 : [LIMIT - @bytes, 0].max
    def shut? = @shut ? true : false

    def put(bytes, ios)
      @bytes += bytes.bytesize
      last = @segments.last
      last && ios.empty? ? last[0] << bytes : @segments << [bytes.dup, ios]
      woken&.call
    end

    # Returns at most so many bytes, and the descriptors that came with the first; nil: none.
    def take(most)
      bytes, ios = @segments.first
      return unless bytes

      piece = bytes.byteslice(0, most)
      @bytes -= piece.bytesize
      piece.bytesize == bytes.bytesize ? @segments.shift : @segments[0] =
[bytes.byteslice(most..), []]
      [piece, ios]
    end

    def release
      return unless (@references -= 1).zero?

      @shut = true
      @segments.each { |_, ios| ios.each { |io| io.drop.call if io.is_a?(Flight) } }
      @segments.clear
      peer.woken&.call unless peer.shut?
    end
  end

  class Socket < Descriptor
    def self.pair(kernel, owner)
      one, other = Endpoint.new, Endpoint.new
      one.peer, other.peer = other, one
      [new(kernel, owner, one), new(kernel, owner, other)]
    end

    attr_reader :endpoint

    def initialize(kernel, owner, endpoint)
      super(kernel, owner)
      @endpoint = endpoint
      endpoint.references += 1
    end

    def readable? = @endpoint.segments.any? || @endpoint.peer.shut?
    def writable? = @endpoint.peer.room.positive? || @endpoint.peer.shut?

    def in_flight
      @endpoint.references += 1
      Flight.new(lambda { |owner|
        Socket.new(@kernel, owner, @endpoint).tap { @endpoint.references -= 1 }
      }, -> { @endpoint.release })
    end

    def sendmsg_nonblock(bytes, _flags = 0, _address = nil, *rights, exception: true)
      raise IOError, "closed stream" if closed?

      ios = rights.flat_map(&:ios)
      return give_back(ios) { raise Errno::EPIPE } if @endpoint.peer.shut?
      return give_back(ios) { raise Errno::ENOBUFS } if owner == :supervisor && @kernel.no_buffers

      sent = [@endpoint.peer.room, bytes.bytesize].min
      return give_back(ios) { :wait_writable } if sent.zero?

      @endpoint.peer.put(bytes.byteslice(0, sent), ios)
      sent
    end

    def recvmsg_nonblock(most = 4096, _flags = 0, _control = nil, scm_rights: false,
                         exception: true)
      raise IOError, "closed stream" if closed?

      bytes, ios = @endpoint.take(most)
      return bytes(bytes, ios, scm_rights) if bytes

      @endpoint.peer.shut? ? ["", nil, 0] : :wait_readable
    end

    def wait_readable(*) = readable? ? self : nil
    def inspect = "#<socket of #{owner.is_a?(Symbol) ? owner : owner.pid}>"

    private

    def bytes(bytes, ios, wanted)
      return [bytes, nil, 0] if ios.empty?

      cut = owner == :supervisor && @kernel.out_of_descriptors
      return drop(ios) { [bytes, nil, cut && wanted ? ::Socket::MSG_CTRUNC : 0] } if cut || !wanted

      received = ios.map { |io| io.is_a?(Flight) ? io.receive.call(owner) : io }
      [bytes, nil, 0, Rights.new(received)]
    end

    def drop(ios)
      ios.each { |io| io.drop.call if io.is_a?(Flight) }
      yield
    end
    alias give_back drop

    def released = @endpoint.release
  end
end
