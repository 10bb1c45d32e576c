# frozen_string_literal: true

require "socket"
require "stringio"

# The part of HTTP that this benchmark needs: it answers a GET and closes the connection.
#
#   HTTP.serve(server, application)   # false: another process accepted the connection
module HTTP
  class << self
    def serve(server, application)
      connection = server.accept_nonblock(exception: false)
      return false if connection == :wait_readable

      answer(connection, *application.call(environment(connection)))
      true
    ensure
      connection.close if connection.is_a?(IO)
    end

    private

    def environment(connection)
      method, target = connection.gets("\r\n").split
      fields = connection.gets("\r\n\r\n").scan(/^(.+?): (.*)\r$/)
      path, query = target.split("?", 2)
      { "REQUEST_METHOD" => method, "PATH_INFO" => path, "QUERY_STRING" => query.to_s,
        "SCRIPT_NAME" => "", "SERVER_NAME" => "shop", "SERVER_PORT" => "80",
        "SERVER_PROTOCOL" => "HTTP/1.1", "rack.url_scheme" => "http", "rack.errors" => $stderr,
        "rack.input" => StringIO.new("".b),
        **fields.to_h { |name, value| ["HTTP_#{name.upcase.tr("-", "_")}", value] } }
    end

    def answer(connection, status, headers, body)
      head = headers.map { |name, value| "#{name}: #{value}\r\n" }
      connection.write("HTTP/1.1 #{status} -\r\n", *head, "\r\n")
      body.each { |part| connection.write(part) }
    ensure
      body.close if body.respond_to?(:close)
    end
  end
end
