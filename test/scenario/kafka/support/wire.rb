# frozen_string_literal: true

require "socket"

# Requests that rdkafka's admin doesn't know, written by hand.
module Wire
  DELETE_RECORDS = [21, 1].freeze # its key and version
  NOBODY = "scenario"

  # As retention does: what lies before the offset is gone.
  def self.delete_records(port, topic, partition, offset)
    body = [1, *text(topic), 1, partition, offset, 10_000].pack("Nna*NNQ>N")
    request = [*DELETE_RECORDS, 7, *text(NOBODY)].pack("nnNna*") + body
    Socket.tcp("127.0.0.1", port) do |socket|
      socket.write([request.bytesize].pack("N"), request)
      socket.read(socket.read(4).unpack1("N")).unpack1("@#{4 + 4 + 4 + 2 + topic.bytesize}NNQ>n")
    end
  end

  def self.text(string) = [string.bytesize, string]
  private_class_method :text
end
