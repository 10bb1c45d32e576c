# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Clients that hold a connection, a file or threads, by the names of their classes, so that
      # their libraries need not be loaded. The outermost come first: an HTTP connection is
      # reported, not the TLS session and the socket inside. Plugins add the clients that they know.
      #
      # open?, fd, peer  questions about an object; without `fd` it doesn't give its socket
      # advice           what to do about an open one
      # mute?            true: not reported, as it compares the pid before each use, and drops an
      #                  inherited connection
      # connected        it has a connection: if the process has none, it isn't searched for
      # threads          names of its native threads
      # finalized        a finalizer closes it, also in a child (see Finalizers)
      module KnownClients
        Type = Struct.new(:name, :open?, :fd, :peer, :advice, :mute?, :connected, :threads,
                          :finalized, keyword_init: true) do
          # Returns the answer; nil, as of a closed client, if the question raises: a half-made or
          # half-closed object may raise anything.
          def ask(question, object)
            self[question]&.call(object)
          rescue StandardError, ScriptError, SystemStackError
            nil
          end
        end

        FRESH = "connect in each child, by Skep.on_fork for one, and close it before the fork"
        MIXED = "both processes would speak on it, and get each other's answers: #{FRESH}"
        FILE = "SQLite forbids to carry it across a fork, locks get lost and the file corrupt: " \
               "open it in each child, and close it before the fork"
        TLS = "both processes would go on from one cipher state, and be hung up on: #{FRESH}"

        OPEN = ->(it) { !it.closed? }
        CONNECTED = ->(it) { it.connected? }
        ADDRESS = ->(it) { [it.host, it.port].compact.join(":") }
        # Follows instance variables: @socket of the object, then @io of that.
        PART = ->(object, *names) { names.inject(object) { |at, n| at&.instance_variable_get(n) } }

        TABLE = {
          "PG::Connection" => {
            open?: ->(it) { !it.finished? }, fd: ->(it) { it.socket }, peer: ADDRESS
          },
          "Mysql2::Client" => {
            open?: OPEN, fd: ->(it) { it.socket },
            peer: ->(it) { it.query_options.values_at(:host, :port).compact.join(":") }
          },
          "Trilogy" => { open?: OPEN, peer: ->(it) { it.connection_options[:host] } },
          "SQLite3::Database" => {
            open?: ->(it) { !it.closed? && it.filename != "" }, fd: ->(_) {}, connected: false,
            peer: ->(it) { it.filename }, advice: FILE
          },
          "RedisClient" => {
            open?: CONNECTED, mute?: ->(it) { !it.config.inherit_socket },
            fd: ->(it) { PART[it, :@raw_connection, :@io, :@io] },
            peer: ->(it) { ADDRESS[it.config] }
          },
          "Redis::Client" => {
            open?: CONNECTED, mute?: ->(it) { !it.options[:inherit_socket] },
            fd: ->(it) { PART[it, :@connection, :@sock] }, peer: ADDRESS
          },
          "Hiredis::Ext::Connection" => { open?: CONNECTED, fd: ->(it) { it.fileno } },
          "Net::HTTP" => {
            open?: ->(it) { it.started? }, fd: ->(it) { PART[it, :@socket, :@io] },
            peer: ->(it) { [it.address, it.port].join(":") }
          },
          "OpenSSL::SSL::SSLSocket" => { open?: OPEN, fd: ->(it) { it }, advice: TLS }
        }.freeze
        constants.each { |name| private_constant name }

        @all = []

        class << self
          def add(name, **facts)
            @all << Type.new(name:, connected: true, advice: MIXED, **facts).freeze
          end

          # Native threads may be those of a plugin's clients, whose plugin isn't loaded.
          def all(inventory)
            Plugin.all if inventory.native_threads.any?
            @all
          end
        end
        TABLE.each { |name, facts| add(name, **facts) }
      end
      private_constant :KnownClients
    end
  end
end
