# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # The clients that Guard knows by name, the outermost first: it reports an HTTP connection,
      # not the TLS session and the socket inside.
      module KnownClients
        # Follows instance variables: @socket of the object, then @io of that.
        PART = ->(object, *names) { names.inject(object) { |at, n| at&.instance_variable_get(n) } }
        ADDRESS = ->(host, port) { [host, port].compact.join(":") }
        # It doesn't give its socket: returns the address it was configured with.
        TRILOGY = lambda do |it|
          it.connection_options.values_at(:socket, :port).compact.first&.to_s || ":3306"
        end
        FRESH = "connect in each child, by Skep.on_fork for one, and close it before the fork"
        MIXED = "both processes would speak on it, and get each other's answers: #{FRESH}"
        GONE = "a child has none of its threads, and hangs or crashes when it uses or frees it: " \
               "make it in each child, and close it before the fork"
        OURS = "a child has none of its threads, and may not use it: make it in each child"
        FILE = "SQLite forbids to carry it across a fork, locks get lost and the file corrupt: " \
               "open it in each child, and close it before the fork"
        TLS = "both processes would go on from one cipher state, and be hung up on: #{FRESH}"
        constants.each { |name| private_constant name }

        KAFKA = { open: ->(it) { !it.closed? }, threads: /\Ardk:/, needs: nil,
                  finalized: true, advice: GONE }.freeze
        private_constant :KAFKA

        ALL = [
          ClientType.new("Rdkafka::Consumer", **KAFKA),
          ClientType.new("Rdkafka::Producer", **KAFKA),
          ClientType.new("Rdkafka::Admin", **KAFKA),
          ClientType.new("Skep::Kafka::Producer", **KAFKA, finalized: false, advice: OURS),
          ClientType.new("PG::Connection",
                     open: ->(it) { !it.finished? }, fd: ->(it) { it.socket },
                     peer: ->(it) { ADDRESS[it.host, it.port] }, advice: MIXED),
          ClientType.new("Mysql2::Client",
                     open: ->(it) { !it.closed? }, fd: ->(it) { it.socket },
                     peer: ->(it) { ADDRESS[*it.query_options.values_at(:host, :port)] },
                     advice: MIXED),
          ClientType.new("Trilogy",
                     open: ->(it) { !it.closed? }, ending: TRILOGY,
                     peer: ->(it) { it.connection_options[:host] }, advice: MIXED),
          ClientType.new("SQLite3::Database", needs: :file,
                     open: ->(it) { !it.closed? && it.filename != "" },
                     file: ->(it) { it.filename }, peer: ->(it) { it.filename }, advice: FILE),
          # These two compare the pid before each use, and drop an inherited connection.
          ClientType.new("RedisClient",
                     open: ->(it) { it.connected? }, mute: ->(it) { !it.config.inherit_socket },
                     fd: ->(it) { PART[it, :@raw_connection, :@io, :@io] },
                     peer: ->(it) { ADDRESS[it.config.host, it.config.port] }, advice: MIXED),
          ClientType.new("Redis::Client",
                     open: ->(it) { it.connected? }, mute: ->(it) { !it.options[:inherit_socket] },
                     fd: ->(it) { PART[it, :@connection, :@sock] },
                     peer: ->(it) { ADDRESS[it.host, it.port] }, advice: MIXED),
          ClientType.new("Hiredis::Ext::Connection",
                     open: ->(it) { it.connected? }, fd: ->(it) { it.fileno }, advice: MIXED),
          ClientType.new("Net::HTTP",
                     open: ->(it) { it.started? }, fd: ->(it) { PART[it, :@socket, :@io] },
                     peer: ->(it) { ADDRESS[it.address, it.port] }, advice: MIXED),
          ClientType.new("OpenSSL::SSL::SSLSocket",
                     open: ->(it) { !it.closed? }, fd: ->(it) { it.to_io }, advice: TLS)
        ].freeze
      end
      private_constant :KnownClients
    end
  end
end
