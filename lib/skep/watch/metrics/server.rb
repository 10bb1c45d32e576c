# frozen_string_literal: true

# Serves a Rack application at a socket that listens already: Puma, in threads of its own.
#
#   server = Server.new(app).serve(socket)    # the socket is its own from here on
#   server.close
#
# What clients may do is bounded: so many connections at a time (Gate), so many seconds for a
# request, a body of some bytes. Nobody is told of what they do wrong but they themselves.
module Skep
  module Watch
    module Metrics
      class Server
        # For one thread that may wait for the supervisor there are others that needn't.
        OPTIONS = { min_threads: 0, max_threads: 4, environment: "production", workers: 0,
                    first_data_timeout: 5, persistent_timeout: 20, force_shutdown_after: 1,
                    http_content_length_limit: 16_384, raise_exception_on_sigterm: false,
                    reaping_time: nil, auto_trim_time: nil }.freeze # who is idle sleeps
        private_constant :OPTIONS

        # One that says nothing of its clients on stderr.
        class Discreet < Puma::Server
          # Who has gone isn't answered that it was wrong. Puma's threads would stumble over it.
          def client_error(...) #: (*untyped) -> untyped
            super
          rescue Puma::ConnectionError
            nil
          end
        end
        private_constant :Discreet

        def initialize(app) #: (untyped) -> void
          @stop, @stopper = OS.pipe
          log_writer = Puma::LogWriter.new(Puma::NullIO.new, Puma::NullIO.new)
          @puma = Discreet.new(app, nil, { **OPTIONS, log_writer: })
        end

        def serve(socket) #: (BasicSocket) -> self
          unix = socket.local_address.unix?
          socket.autoclose = false # its number is in other hands from here on
          listener = (unix ? UNIXServer : TCPServer).for_fd(socket.fileno).extend(Gate)
          listener.guard(@stop)
          @puma.binder.ios << listener
          @puma.binder.envs[listener] = { **@puma.binder.proto_env, "REMOTE_ADDR" => "" } if unix
          @puma.run
          self
        end

        # Who is being answered is answered.
        def close #: () -> void
          @stopper.close
          @puma.stop(true)
          @stop.close
        end
      end
    end
  end
end
