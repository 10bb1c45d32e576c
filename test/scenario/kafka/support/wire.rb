# frozen_string_literal: true

require "socket"

# Requests that rdkafka's admin doesn't know, written by hand.
#
#   Wire.delete_records(port, "orders", 0, 29_000)
#   Wire.create_topic(port, "orders", [[1, 2, 3], [2, 3, 1]], "cleanup.policy" => "compact")
#   Wire.coordinator(port, "billing")       # => a broker's id; nil: nobody, just now
#   Wire.partitions(port)                   # => [Place, …], of all topics
module Wire
  DELETE_RECORDS, CREATE_TOPICS = [21, 1].freeze, [19, 2].freeze # their keys and versions
  METADATA, FIND_COORDINATOR = [3, 1].freeze, [10, 1].freeze
  NOBODY = "scenario"
  SECONDS = 5 # that a connection may take, and an answer
  # Of a partition: who leads it, where it is to be, and where it is.
  Place = Struct.new(:topic, :number, :leader, :replicas, :in_sync)

  # What is in an answer, from its beginning to its end.
  class Answer
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
    # As retention does: what lies before the offset is gone.
    def delete_records(port, topic, partition, offset)
      body = [1, *text(topic), 1, partition, offset, 10_000].pack("Nna*NNQ>N")
      ask(port, DELETE_RECORDS, body)
    end

    # copies: the brokers of each partition, the one that is to lead it first.
    def create_topic(port, name, copies, settings = {})
      placed = copies.each_with_index.map { |ids, n| [n, ids.size, *ids].pack("N*") }.join
      set = settings.map { |pair| pair.flat_map { |one| text(one.to_s) }.pack("na*na*") }.join
      head = [1, *text(name), -1, -1, copies.size].pack("Nna*l>s>N")
      body = [head, placed, [settings.size].pack("N"), set, [10_000, 0].pack("NC")].join
      answer = ask(port, CREATE_TOPICS, body)
      answer.int32
      answer.array { |one| [one.text, one.int16, one.text] }.first => [_, code, why]
      raise "the topic #{name}: #{code} #{why}" unless code.zero?
    end

    # Of a group; of a transactional.id, with 1.
    def coordinator(port, name, type = 0)
      answer = ask(port, FIND_COORDINATOR, [*text(name), type].pack("na*C"))
      answer.int32
      code, = answer.int16, answer.text
      code.zero? ? answer.int32 : nil
    end

    def partitions(port)
      answer = ask(port, METADATA, [-1].pack("l>"))
      answer.array { |one| [one.int32, one.text, one.int32, one.text] }
      answer.int32
      answer.array do |one|
        name = [one.int16, one.text, one.int8][1]
        one.array { |partition| place(name, partition) }
      end.flatten(1)
    end

    private

    def place(topic, one)
      number, leader = [one.int16, one.int32, one.int32].drop(1)
      Place.new(topic, number, leader, one.array(&:int32), one.array(&:int32))
    end

    def ask(port, api, body)
      request = [*api, 7, *text(NOBODY)].pack("nnNna*") + body
      Socket.tcp("127.0.0.1", port, connect_timeout: SECONDS) do |socket|
        socket.write([request.bytesize].pack("N"), request)
        socket.wait_readable(SECONDS) or raise Errno::ETIMEDOUT
        Answer.new((read(socket, read(socket, 4).unpack1("N")))[4..])
      end
    end

    def read(socket, size)
      socket.read(size).tap { |found| raise EOFError if found.nil? || found.bytesize < size }
    end

    def text(string) = [string.bytesize, string]
  end
end
