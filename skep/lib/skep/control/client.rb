# frozen_string_literal: true

# Sends commands to a running swarm over its control socket, and follows its events.
#
#   client = Client.new("/run/skep/billing.sock")
#   client.call("status")              # => {"status" => {…}}; raises Unreachable
#   client.status                      # => {…}; raises Unreachable or CommandRefused
#   client.must_take("restart", %i[work])   # raises OtherVersion if the supervisor can't do that
#   client.call_async("scale", nodes: 4)   # => Request, without waiting for its answer
#   client.events                      # => EventStream: each event as it happens
#   client.history(follow: true)       # => the same, after the last events that the swarm has kept
#   client.events(debug: true)         # => also those of level debug, which may be very many
module Skep
  module Control
    class Client
      TIMEOUT = 10.0
      # What supervisors take that don't know the command `commands`. They ignore all other fields.
      FIRST = { "restart" => %w[node wait], "reload" => %w[wait], "scale" => %w[nodes] }.freeze
      UNKNOWN = /\Aunknown (?:command|field) /
      private_constant :TIMEOUT, :FIRST, :UNKNOWN

      attr_reader :peer # pid of the process that answered last, nil if the system doesn't report it

      def initialize(path)
        @path = path
      end

      # timeout: how many seconds to wait for the answer; nil waits for ever.
      def call(command, timeout: TIMEOUT, **facts)
        answer = ask(command, timeout, facts)
        other_version(command, facts.keys) if answer["error"]&.match?(UNKNOWN)
        answer
      end

      # Raises OtherVersion unless the supervisor takes these fields of the command: one of an older
      # version would ignore them, and restart all nodes in place of those of a work.
      def must_take(command, fields)
        fields = fields.map(&:to_s)
        return if (fields - FIRST.fetch(command, [])).empty?

        taken = commands.fetch(command, [])
        other_version(command, fields - taken) if (fields - taken).any?
      end

      # Sends a command and returns a Request. Never waits; the caller closes the request.
      def call_async(command, **facts)
        request(Connection.method(:connect_nonblock), command, facts)
      end

      # Returns the swarm's status.
      def status(timeout: TIMEOUT)
        answer = call("status", timeout:)
        raise CommandRefused, answer["error"] if answer["error"]

        answer["status"] or raise Unreachable.because(@path, InvalidAnswer.new)
      end

      # The same. Raises PidMismatch if the pids in it aren't those that this process sees.
      def local_status
        status.tap do |status|
          pid = status["pid"]
          Connection.local?(peer, pid) or raise PidMismatch.new(path: @path, pid:, peer:)
        end
      end

      # Returns the events from here on; the caller closes the stream. debug: with those of level
      # debug; a supervisor of an older version refuses that. Raises EventsRefused.
      def events(debug: false) = stream("follow", **all_levels(debug))

      # Returns the last events that the swarm has kept, and with `follow` those from here on.
      # after: the position of an earlier stream, whose events are left out. debug: as for `events`;
      # the swarm keeps none of level debug.
      def history(follow: false, after: nil, debug: false)
        stream("history", live: follow, after:, **all_levels(debug))
      end

      # The same, with those from here on, and with the charts' numbers if `series` is true. Never
      # waits: the stream reports what the swarm answers.
      def history_async(after: nil, series: false)
        guard do
          connection = Connection.connect_nonblock(@path)
          EventStream.new(connection, "history", live: true, series:, after:)
        end
      end

      private

      # Supervisors of older versions don't know this field.
      def all_levels(debug) = debug ? { debug: true } : {}

      def ask(command, timeout, facts = {})
        request = request(Connection.method(:connect), command, facts, timeout)
        @peer = request.peer
        request.wait(timeout && (OS.now + timeout))
      ensure
        request&.close
      end

      def commands
        call("commands")["commands"].to_h
      rescue OtherVersion
        FIRST
      end

      def other_version(command, fields)
        raise OtherVersion.new(path: @path, command:, fields:, skep: version)
      end

      # Returns the supervisor's version of skep; nil: it doesn't say so.
      def version
        ask("status", TIMEOUT).dig("status", "skep")
      rescue Skep::Error
        nil
      end

      def stream(command, **facts)
        stream = guard { EventStream.new(Connection.connect(@path, TIMEOUT), command, **facts) }
        error = stream.refusal(TIMEOUT) or return stream
        stream.close
        other_version(command, facts.keys & [:debug]) if error.match?(UNKNOWN)
        raise EventsRefused.new(path: @path, error:)
      end

      def request(connect, command, facts, *timeout)
        Request.new(@path, guard { connect.call(@path, *timeout) }, command, facts)
      end

      def guard
        yield
      rescue SystemCallError, ArgumentError => e # ArgumentError: a path that no socket can have
        raise Unreachable.because(@path, e)
      end
    end
  end
end
