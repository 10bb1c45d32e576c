# frozen_string_literal: true

require "socket"

# Sends requests in a loop, each over a new connection. Keeps the numbers of those that were
# answered as they must be, and what else came.
#
#   client = WebClient.new(port, (0..)) { |number, answer| answer.end_with?("accepted #{number}") }
#   client.accepted; client.failures
#   client.stop
class WebClient
  SECONDS = 120.0

  attr_reader :accepted, :failures

  # numbers: one for each request. path: of the request, before the number.
  def initialize(port, numbers, path: "/", &right)
    @accepted, @failures = [], []
    @port, @path, @right = port, path, right
    @thread = Thread.new { numbers.each { |number| @over ? break : request(number) } }
  end

  def stop
    @over = true
    @thread.join
  end

  private

  def request(number)
    answer = TCPSocket.open("127.0.0.1", @port) do |socket|
      socket.write("GET #{@path}#{number} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      socket.wait_readable(Patience.of(SECONDS)) && socket.read
    end
    answer && @right.call(number, answer) ? @accepted << number : @failures << answer
  rescue SystemCallError => e
    @failures << e.message
  end
end
