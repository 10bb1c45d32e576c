# frozen_string_literal: true

require "skep/guest"

# From the oldest version that was tried; a new major version may have changed what this uses.
Skep::Guest.needs("puma", ">= 8.0", "< 9")

require "puma"
require "puma/server"
require "socket"

# A source for `swarm.work` that runs Puma in a node, at the sockets that were passed to the swarm
# (LISTEN_FDS): all nodes answer at the same port.
#
#   swarm.work(Skep::Puma.new(threads: 5))              # config/puma.rb and config.ru
#   swarm.work(Skep::Puma.new(threads: 5) { MyApp })    # this Rack application
#
# The server is Puma's own, with the settings of its configuration file. What concerns Puma's
# processes has no effect: workers, binds, plugins, and hooks of workers.
module Skep
  class Puma < Guest
    GRACE = 5.0 # seconds in which Puma ends a request that took too long at a stop
    NO_SOCKET = "Skep::Puma answers at a socket that is passed to the swarm, and there is none: " \
                "start it with `skep-listen 9292 skep run FILE`, or by a .socket unit of systemd"
    private_constant :GRACE, :NO_SOCKET

    # threads: overrides that of the configuration file. config: its path, "-" for none; by default
    # the one that Puma itself takes. longest: seconds that a request may take before its node is
    # replaced; nil: there is no limit. The block returns the Rack application, in the node; without
    # it Puma takes the application from its configuration, or config.ru.
    def initialize(threads: 5, config: nil, longest: LONGEST, &app)
      super(threads:, &app)
      @config = config
      @longest = seconds(longest)
    end

    # The name of this kind of work.
    def work_name = "puma"

    private

    def starts_in_quiet? = true # clients would wait

    def start(node, app)
      sockets = passed_sockets
      configuration = configure(node, app.call)
      @events = configuration.events
      @in_flight = InFlight.new(node, threads:)
      @server = ::Puma::Server.new(watched(configuration.app), @events, configuration.options)
      sockets.each { |number| listen(number) }
      @accepting = @server.run
      @events.fire_after_booted!
    end

    def look(node)
      raise "Puma has stopped accepting" unless @accepting.alive?

      node.work = { totals: { requests: @server.requests_count } }
    end

    # Stops accepting, and answers all requests that it has accepted.
    def stop(_node)
      @server.stop(true)
      @events.fire_after_stopped!
    end

    def passed_sockets
      count = ENV.fetch("LISTEN_FDS", "0").to_i
      raise WrongConfiguration, NO_SOCKET unless count.positive?

      Array.new(count) { |index| Swarm::Runtime::SocketActivation::FIRST + index }
    end

    def configure(node, app)
      given = { workers: 0, max_threads: threads, app:, config_files: @config && [@config] }.compact
      time = stop_time(node)
      shutdown = time ? [time - GRACE, time / 2].max : -1 # as long as it takes
      ::Puma::Configuration.new(given, { force_shutdown_after: shutdown }).tap do |configuration|
        options = configuration.clamp
        options[:min_threads] = [options[:min_threads], threads].min
      end
    end

    # Puma's own name for it has the query, which may have secrets.
    def watched(app)
      lambda do |env|
        @in_flight.run("#{env["REQUEST_METHOD"]} #{env["PATH_INFO"]}", @longest) { app.call(env) }
      end
    end

    def listen(number)
      socket = BasicSocket.for_fd(number)
      socket.autoclose = false
      address = socket.local_address
      return @server.binder.inherit_tcp_listener(nil, nil, number) unless address.unix?

      @server.binder.inherit_unix_listener(address.unix_path, number)
    end
  end
end
