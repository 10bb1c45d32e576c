# frozen_string_literal: true

# Serves a Rack application at a socket that listens already: Puma, in threads of its own.
#
#   server = Server.new(app).serve(socket)    # the socket is its own from here on
#   server.close
#
# What a client may do is bounded: so many seconds for a request, a body of some bytes, and as many
# connections as this process has descriptors.
module Skep
  module Watch
    module Metrics
      class Server
        # For one thread that may wait for the supervisor there are others that needn't.
        OPTIONS = { min_threads: 0, max_threads: 4, environment: "production", workers: 0,
                    first_data_timeout: 5, persistent_timeout: 20, force_shutdown_after: 1,
                    http_content_length_limit: 16_384, raise_exception_on_sigterm: false,
                    reaping_time: nil, auto_trim_time: nil }.freeze # who is idle sleeps
        FULL_SECONDS = 0.1
        private_constant :OPTIONS, :FULL_SECONDS

        # Puma's news are nobody's; without a descriptor it would try to accept all the time.
        class Silence < Puma::LogWriter
          #: (IO stop) -> void
          def initialize(stop)
            super(Puma::NullIO.new, Puma::NullIO.new)
            @stop = stop
          end

          def unknown_error(error, *) #: (Exception, *untyped) -> void
            full = error.is_a?(Errno::EMFILE) || error.is_a?(Errno::ENFILE)
            @stop.wait_readable(FULL_SECONDS) if full
          end
        end
        private_constant :Silence

        def initialize(app) #: (untyped) -> void
          @stop, @stopper = OS.pipe
          @puma = Puma::Server.new(app, nil, { **OPTIONS, log_writer: Silence.new(@stop) })
        end

        def serve(socket) #: (BasicSocket) -> self
          binder, number = @puma.binder, socket.fileno
          socket.autoclose = false # its number is in other hands from here on
          socket.local_address.unix? ? binder.inherit_unix_listener(nil, number)
                                     : binder.inherit_tcp_listener(nil, nil, number)
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
