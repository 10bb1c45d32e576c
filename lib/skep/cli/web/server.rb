# frozen_string_literal: true

module Skep
  module CLI
    class Web < Command
      # Puma, inside this process, for one application.
      #
      #   Server.new(app, "127.0.0.1", 9393, $stderr).run { |address| … }   # until TERM or INT
      class Server
        PATIENCE = { first_data_timeout: 10, persistent_timeout: 20,
                     force_shutdown_after: 2 }.freeze
        SIZE = { min_threads: 0, max_threads: 5, http_content_length_limit: 65_536,
                 environment: "production", reaping_time: nil, auto_trim_time: nil }.freeze
        private_constant :PATIENCE, :SIZE

        #: (untyped, String, Integer, IO) -> void
        def initialize(app, bind, port, err)
          @app = app
          @bind = bind
          @port = port
          @err = err
        end

        # The block is told where it listens once it does.
        def run #: () { (String) -> void } -> void
          server = listen(puma)
          signals = Swarm::Runtime::SelfPipe.new(%w[TERM INT])
          server.run
          yield @address
          signals.to_io.wait_readable
        ensure
          server&.stop(true) if signals
          signals&.release
        end

        private

        def puma
          require "puma"
          require "puma/server"
          raise LoadError unless defined?(::Puma::LogWriter) # it is older than 6

          quiet = ::Puma::LogWriter.new(File.open(File::NULL, "w"), @err)
          ::Puma::Server.new(@app, nil, { log_writer: quiet, **PATIENCE, **SIZE })
        rescue LoadError
          raise NotDone, "skep web is served by Puma, 6 or newer, which isn't here: " \
                        "`gem install puma`, or add it to the Gemfile"
        end

        def listen(server)
          bind = @bind == "localhost" ? "127.0.0.1" : @bind
          listener = server.add_tcp_listener(bind, @port)
          @address = "#{bind.include?(":") ? "[#{bind}]" : bind}:#{listener.local_address.ip_port}"
          server
        rescue SystemCallError, SocketError => e
          raise NotDone, "the page can't listen at #{@bind}, port #{@port}: " \
                        "#{e.message.sub(/ - .*/, "").downcase}"
        end
      end
      private_constant :Server
    end
  end
end
