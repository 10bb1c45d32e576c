# frozen_string_literal: true

# Serves a Rack application at a listening socket, by Puma, in threads of its own: metrics in the
# helper, and the page of `skep web`.
#
#   server = PumaServer.new(app, threads: 4).serve(socket)    # it owns the socket from here on
#   server.close
#   PumaServer.new(app).serve_passed(socket)   # what another process accepts: PassedConnections
#
# Limits protect this process from clients: seconds for a request, bytes of a body. Puma must be
# loaded: `Metrics.load_puma`.
module Skep
  module Metrics
    class PumaServer
      OPTIONS = { min_threads: 0, environment: "production", workers: 0, first_data_timeout: 5,
                  persistent_timeout: 20, force_shutdown_after: 1,
                  http_content_length_limit: 16_384, raise_exception_on_sigterm: false,
                  reaping_time: nil, auto_trim_time: nil }.freeze # no timer wakes an idle server
      private_constant :OPTIONS

      # Answers no client that has left, which would end a thread of Puma.
      class QuietPuma < ::Puma::Server
        def client_error(...)
          super
        rescue ::Puma::ConnectionError
          nil
        end
      end
      private_constant :QuietPuma

      # errors: an IO for what the application writes to rack.errors. limits: options of Puma.
      def initialize(app, threads: 4, errors: ::Puma::NullIO.new, **limits)
        log_writer = ::Puma::LogWriter.new(::Puma::NullIO.new, errors)
        @puma = QuietPuma.new(app, nil, { **OPTIONS, **limits, max_threads: threads, log_writer: })
      end

      def serve(socket)
        unix = socket.local_address.unix?
        socket.autoclose = false # Puma closes its descriptor
        listen((unix ? UNIXServer : TCPServer).for_fd(socket.fileno), unix:)
      end

      def serve_passed(socket) = listen(PassedConnections.new(socket), unix: true)

      # Finishes the requests in progress.
      def close = @puma.stop(true)

      private

      # unix: its clients have no IP address.
      def listen(listener, unix:)
        @puma.binder.ios << listener
        @puma.binder.envs[listener] = { **@puma.binder.proto_env, "REMOTE_ADDR" => "" } if unix
        @puma.run
        self
      end
    end
  end
end
