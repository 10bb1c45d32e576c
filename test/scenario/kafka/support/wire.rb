# frozen_string_literal: true

require "socket"

# Sends Kafka requests that rdkafka's admin client lacks.
#
#   Wire.delete_records(port, "orders", 0, 29_000)
#   Wire.create_topic(port, "orders", [[1, 2, 3], [2, 3, 1]], "cleanup.policy" => "compact")
#   Wire.coordinator(port, "billing")       # => a broker's id, or nil without a coordinator
#   Wire.partitions(port)                   # => [Partition, …] of all topics
module Wire
  DELETE_RECORDS, CREATE_TOPICS = [21, 1].freeze, [19, 2].freeze # api keys and versions
  METADATA, FIND_COORDINATOR = [3, 1].freeze, [10, 1].freeze
  CLIENT_ID = "scenario"
  SECONDS = 15 # timeout of a connection, and of a response
  # leader: a broker's id; replicas, in_sync: ids of brokers.
  Partition = Struct.new(:topic, :number, :leader, :replicas, :in_sync)

  # Reads the fields of a response in their order.
  class Response
    def initialize(bytes)
      @bytes = bytes
      @at = 0
    end

    def int8 = take(1, "c")
    def int16 = take(2, "s>")
    def int32 = take(4, "l>")
    def array = Array.new([int32, 0].max) { yield self }

    def text
      size = int16
      take(size, "a*") unless size.negative?
    end

    private

    def take(size, format) = @bytes[@at, size].unpack1(format).tap { @at += size }
  end

  class << self
    # Deletes the messages before the offset, as retention does.
    def delete_records(port, topic, partition, offset)
      body = [1, *text(topic), 1, partition, offset, 10_000].pack("Nna*NNQ>N")
      send_request(port, DELETE_RECORDS, body)
    end

    # replicas: the ids of each partition's brokers, its preferred leader first.
    def create_topic(port, name, replicas, settings = {})
      assignment = replicas.each_with_index.map { |ids, n| [n, ids.size, *ids].pack("N*") }.join
      configs = settings.map { |pair| pair.flat_map { |one| text(one.to_s) }.pack("na*na*") }.join
      head = [1, *text(name), -1, -1, replicas.size].pack("Nna*l>s>N")
      body = [head, assignment, [settings.size].pack("N"), configs, [10_000, 0].pack("NC")].join
      response = send_request(port, CREATE_TOPICS, body)
      response.int32
      response.array { |one| [one.text, one.int16, one.text] }.first => [_, code, message]
      raise "the topic #{name}: #{code} #{message}" unless code.zero?
    end

    # Returns the coordinator of a group, or, with type 1, of a transactional.id.
    def coordinator(port, name, type = 0)
      response = send_request(port, FIND_COORDINATOR, [*text(name), type].pack("na*C"))
      response.int32
      code, = response.int16, response.text
      code.zero? ? response.int32 : nil
    end

    def partitions(port)
      response = send_request(port, METADATA, [-1].pack("l>"))
      response.array { |one| [one.int32, one.text, one.int32, one.text] }
      response.int32
      response.array do |one|
        name = [one.int16, one.text, one.int8][1]
        one.array { |fields| partition(name, fields) }
      end.flatten(1)
    end

    private

    def partition(topic, one)
      number, leader = [one.int16, one.int32, one.int32].drop(1)
      Partition.new(topic, number, leader, one.array(&:int32), one.array(&:int32))
    end

    def send_request(port, api, body)
      request = [*api, 7, *text(CLIENT_ID)].pack("nnNna*") + body
      Socket.tcp("127.0.0.1", port, connect_timeout: SECONDS) do |socket|
        socket.write([request.bytesize].pack("N"), request)
        socket.wait_readable(SECONDS) or raise Errno::ETIMEDOUT
        Response.new((read(socket, read(socket, 4).unpack1("N")))[4..])
      end
    end

    def read(socket, size)
      socket.read(size).tap { |found| raise EOFError if found.nil? || found.bytesize < size }
    end

    def text(string) = [string.bytesize, string]
  end
end
