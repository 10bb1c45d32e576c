# frozen_string_literal: true

require "json"
require "socket"
require "time"

# The status socket: a UNIX socket (mode 0600)
# that answers within the supervisor's loop and never blocks it.
#
#   {"v":1,"command":"status"}\n      # asked: one line of JSON
#   {"v":1,"status":{…}}\n            # answered: one line, then it closes
#
#   {"v":1,"command":"follow"}\n
#   {"v":1,"follow":{"seq":41}}\n     # then each event as it happens, until the client closes:
#   {"v":1,"seq":42,"time":"…","mono":1234.5,"level":"warn","event":"node_died","node":0,…}\n
#
# What else can be asked is told in Commands. Events are numbered from the supervisor's first
# on, so that a follower knows whether it has missed one. A client that says nothing, reads nothing
# or says too much is closed at a deadline or at a limit, and costs the swarm nothing.
module Skep
  module Watch
    class Status < Swarm::Supervisor::Observer
      VERSION = 1
      CLIENTS = 64
      FOLLOWERS = 8
      private_constant :CLIENTS, :FOLLOWERS

      class Unusable < Skep::Error
        def initialize(path:, error:)
          super("the status socket #{path} can't be made, #{error}: name another with control:")
        end

        def exit_code = ExitCode::CONFIGURATION #: () -> Integer
      end

      # What goes over the socket: facts as one line.
      def self.line(**facts) #: (**untyped) -> String
        "#{JSON.generate({ v: VERSION, **facts }, max_nesting: 0)}\n"
      end

      def initialize #: () -> void
        super
        @seq = 0
        @clients = []
      end

      # Told to those who follow.
      def event(name, level, facts) #: (String, Symbol, Hash) -> void
        @seq += 1
        followers = @clients.select(&:follows?)
        return if followers.empty?

        line = Status.line(**news(name, level, facts))
        followers.each { |client| client.put(line) }
      end

      def configured(supervisor) #: (Swarm::Supervisor) -> void
        @supervisor = supervisor
        @path = supervisor.config.control_path
        listen
        open_door
      end

      # USR1: the socket is made again if it was removed. What lies there by now stays.
      def reopen #: () -> void
        return if @server.nil? || occupied?

        before = @server
        listen
        @door.close
        before.close
        open_door
      end

      # Nobody who asks or follows is to notice.
      def dump(state_file) #: (Swarm::Rollout::Upgrade::StateFile) -> Hash[String, untyped]
        { "seq" => @seq, "server" => state_file.lend(@server), "identity" => @identity,
          "clients" => @clients.map { |client| client.dump(state_file) } }
      end

      #: (Swarm::Supervisor, Hash, Swarm::Rollout::Upgrade::StateFile) -> void
      def resumed(supervisor, kept, state_file)
        return configured(supervisor) unless kept

        @supervisor = supervisor
        @path = supervisor.config.control_path
        @seq += kept["seq"]
        @server = state_file.take(kept["server"], UNIXServer)
        @identity = kept.fetch("identity") { identity }
        open_door
        kept["clients"].each { |client| resume(client, state_file) }
      end

      def disown = @server && [*@clients.each(&:disown), @server].last.close #: () -> void

      def closed #: () -> void
        return unless @server

        @clients.dup.each(&:finish)
        File.unlink(@path) if @identity && @identity == identity # not what another has put there
        @server.close
      end

      private

      def open_door
        @door = Door.new(@server, @supervisor.loop) { |socket| let_in(socket) }
      end

      def listen
        File.unlink(@path) if File.socket?(@path) # a leftover: we hold the name's lease
        before = File.umask(0o177)
        @server = UNIXServer.new(@path).tap { |server| server.listen(Door.queue) }
        @identity = identity
      rescue SystemCallError, ArgumentError => e # ArgumentError: longer than a socket's may be
        raise Unusable.new(path: @path, error: e.message.sub(/ - .*/, "").downcase)
      ensure
        File.umask(before) if before
      end

      # Of the file at the path, which may be another swarm's by now.
      def identity
        stat = File.lstat(@path)
        [stat.dev, stat.ino]
      rescue SystemCallError
        nil
      end

      def occupied? = !identity.nil? #: () -> bool

      def let_in(socket)
        make_room if @clients.size >= CLIENTS
        @clients.size >= CLIENTS ? socket.close : serve(socket)
      end

      # Who has said nothing for the longest time, or doesn't read what it asked for, isn't to keep
      # out who does.
      def make_room = @clients.find(&:idle?)&.close

      def serve(socket)
        ended = @clients.method(:delete)
        client = Client.new(socket, @supervisor.loop, ended:) do |one, request|
          @door.spend { respond(one, request) }
        end
        @clients << client
        client
      end

      # Who waits for an answer has asked for this very program.
      def resume(kept, state_file)
        client = serve(state_file.take(kept["socket"], UNIXSocket)).restore(kept)
        return unless client.waits?

        client.reply(Status.line(done: "upgrade", pid: Process.pid, skep: Skep::VERSION,
                                 ruby: RUBY_VERSION))
      end

      # At once, or later.
      def respond(client, request)
        Commands.obey(@supervisor, request, follow: -> { follow(client) }) do |facts|
          client.reply(Status.line(**facts))
        end
      end

      def follow(client)
        if @clients.count(&:follows?) >= FOLLOWERS
          return { error: "#{FOLLOWERS} clients follow already: close one of them first" }
        end

        client.follow
        { follow: { seq: @seq } }
      end

      def news(name, level, facts)
        facts = Swarm::IPC::PlainData.of(Redaction.of(facts)).transform_keys(&:to_sym)
        { seq: @seq, time: Time.now.utc.iso8601(6), mono: OS.now.round(6), level:, event: name,
          swarm: @supervisor&.config&.name, **facts }
      end
    end
  end
end

require "skep/watch/status/client"
require "skep/watch/status/door"
