# frozen_string_literal: true

require "socket"
require "time"

# The supervisor's end of the control socket: a UNIX socket (mode 0600) that is served within the
# supervisor's loop and never blocks it.
#
#   {"v":1,"command":"status"}\n      # the request: one line of JSON
#   {"v":1,"status":{…}}\n            # the reply: one line, then the server closes
#
#   {"v":1,"command":"follow"}\n
#   {"v":1,"follow":{"seq":41}}\n     # then each event as it happens, until the client closes:
#   {"v":1,"seq":42,"time":"…","mono":1234.5,"level":"warn","event":"node_died","node":0,…}\n
#
#   {"v":1,"command":"history","live":true}\n
#   {"v":1,"history":{"seq":41,"events":12,…}}\n   # then the 12 events that are kept, then as above
#
# With `control: false` there is no socket. Where there can be no run directory, it is an abstract
# socket, and only this user and root are served. CommandHandler lists the other commands. Events
# are numbered from the supervisor's first one, so that a follower knows how many it has missed.
# Those of level debug go only to a follower whose request has "debug":true, and have no numbers of
# their own: there may be thousands per second. A client that sends nothing, reads nothing or sends
# too much is closed at a deadline or at a limit.
module Skep
  module Control
    class Server < Swarm::Supervisor::Observer
      MAX_CLIENTS = 64
      MAX_FOLLOWERS = 8
      private_constant :MAX_CLIENTS, :MAX_FOLLOWERS

      def initialize
        super
        @seq = 0
        @sessions = []
        @history = EventHistory.new
      end

      # Sends the event to each follower that wants it, and keeps it. Those of level debug aren't
      # kept: an outage may have thousands of them, which would drop what led to it.
      def event(name, level, facts)
        numbered = level != :debug
        @seq += 1 if numbered
        followers = @sessions.select { |session| session.wants?(level) }
        kept = @history && numbered
        return unless kept || followers.any?

        event = event_facts(name, level, facts)
        line = Control.line(**event)
        @history.add(event, line) if kept
        followers.each { |session| session.write_event(line) }
      end

      def configured(supervisor)
        @supervisor = supervisor
        open_socket
        return @history = nil unless @server

        accept_clients
        @run = "#{Process.pid}-#{(OS.now * 1000).round}"
        @series = SeriesHistory.new(supervisor)
      end

      # USR1: makes the socket again if it was removed. Another file at its path stays.
      def reopen
        return if @server.nil? || @abstract || identity

        before = @server
        listen
        @acceptor.close
        before.close
        accept_clients
      end

      def close_in_child
        @sessions.each(&:close_in_child)
        @server&.close
      end

      def on_close
        return unless @server

        @sessions.dup.each(&:finish)
        File.unlink(@path) if @identity && @identity == identity # not another swarm's socket
        @server.close
      end

      private

      def open_socket
        lock = @supervisor.abstract_lock
        return serve_abstract(lock.server) if lock

        @path = @supervisor.config.control_path
        @supervisor.config.control? ? listen : remove_leftover
      end

      # The lock of the swarm's name has made it, unless there can be none.
      def serve_abstract(server)
        return unless server

        @server, @abstract = server, true
        @server.listen(Swarm::Supervisor::Acceptor.queue)
      end

      def accept_clients
        @acceptor = Swarm::Supervisor::Acceptor.new(@server, @supervisor.loop) do |socket|
          accept(socket)
        end
      end

      # This swarm holds the name's lock.
      def remove_leftover
        File.unlink(@path) if File.socket?(@path)
      end

      def listen
        remove_leftover
        before = File.umask(0o177)
        @server = UNIXServer.new(@path)
        @server.listen(Swarm::Supervisor::Acceptor.queue)
        @identity = identity
      rescue SystemCallError, ArgumentError => e # ArgumentError: longer than a socket's path may be
        raise CannotListen.new(path: @path, error: e.message.sub(/ - .*/, "").downcase)
      ensure
        File.umask(before) if before
      end

      # Of the file at the path, which may be another swarm's by now; nil if there is none.
      def identity
        stat = File.lstat(@path)
        [stat.dev, stat.ino]
      rescue SystemCallError
        nil
      end

      # Closes the longest idle session if there are too many, or refuses this one.
      def accept(socket)
        return socket.close if @abstract && !Swarm::Definition::AbstractSocket.trusted?(socket)

        @sessions.find(&:idle?)&.close if @sessions.size >= MAX_CLIENTS
        @sessions.size >= MAX_CLIENTS ? socket.close : start_session(socket)
      end

      def start_session(socket)
        on_close = @sessions.method(:delete)
        guard = @supervisor.events.method(:guard)
        session = Session.new(socket, @supervisor.loop, on_close:, guard:) do |client, request|
          @acceptor.charge { respond(client, request) }
        end
        @sessions << session
        session
      end

      # Now, or later.
      def respond(session, request)
        follow = ->(**how) { follow(session, **how) }
        CommandHandler.handle(@supervisor, request, follow:) do |facts|
          session.reply(Control.line(**facts))
        end
      end

      # history: the events that are kept come right after the reply. live: those from here on
      # follow, with those of level debug if `debug` is true. series: the reply has the charts'
      # numbers.
      def follow(session, history: false, live: true, series: false, debug: false)
        if live && @sessions.count(&:follows?) >= MAX_FOLLOWERS
          return { error: "#{MAX_FOLLOWERS} clients follow already: close one of them first" }
        end

        session.follow(debug:) if live
        history ? past(session, series) : { follow: { seq: @seq } }
      end

      # run: tells a restarted supervisor's numbers from those before.
      def past(session, series)
        session.past = @history.lines
        { history: { seq: @seq, run: @run, lost: @history.lost, events: @history.size,
                     **(series ? { series: @series.to_plain } : {}) } }
      end

      def event_facts(name, level, facts)
        facts = Swarm::IPC::PlainData.of(Redaction.of(facts)).transform_keys(&:to_sym)
        { seq: @seq, time: Time.now.utc.iso8601(6), mono: OS.now.round(6), level:, event: name,
          swarm: @supervisor&.config&.name, **facts }
      end
    end
  end
end
