# frozen_string_literal: true

module Skep
  class Web
    # The swarms of the page by name, with the paths of their control sockets. These are the named
    # swarms; or, if none is named, all that are or were in this user's run directory since the page
    # first looked.
    #
    #   registry.paths                   # => {"billing" => "/run/skep/billing.sock"}
    #   registry.call("billing", "quiet", wait: false)
    #   registry.node("billing", "0")    # => that node of the swarm's status
    class SwarmRegistry
      def initialize(names, controls)
        @directory = Swarm::Definition::RunDirectory.path
        Swarm::Definition::RunDirectory.new(@directory).check unless names.empty? && controls.any?
        sockets = [*names.map { |name| named(name) }, *controls]
        @seen = sockets.to_h { |path| [name_of(path), path] }
        @all = @seen.empty?
      end

      def paths = @all ? @seen = { **@seen, **running } : @seen

      # Raises RequestRefused if there is no such swarm.
      def path(name)
        paths[name] or raise RequestRefused.new(404, "there is no swarm #{name.inspect}")
      end

      def node(swarm, id)
        status = Control::Client.new(path(swarm)).status
        status["nodes"].find { |node| node["id"].to_s == id } or
          raise RequestRefused.new(404, "swarm #{swarm} has no node #{id.inspect}")
      rescue Control::Unreachable, Control::CommandRefused
        raise no_answer(swarm)
      end

      def call(swarm, command, **arguments)
        Control::Client.new(path(swarm)).call(command, **arguments)
      rescue Control::Unreachable
        raise no_answer(swarm)
      rescue Control::OtherVersion => e
        raise RequestRefused.new(409, e.message)
      end

      private

      def no_answer(swarm) = RequestRefused.new(503, "swarm #{swarm} doesn't answer")
      def name_of(path) = File.basename(path, ".sock").scrub

      def running
        files = Dir.glob("*.sock", base: @directory).sort.map { |file| File.join(@directory, file) }
        [*abstract, *files].to_h { |path| [name_of(path), path] }
      end

      # A swarm that had no run directory has an abstract socket.
      def named(name)
        path = File.join(@directory, "#{name}.sock")
        return path if File.socket?(path)

        abstract.find { |one| name_of(one) == name } || path
      end

      def abstract = Swarm::Definition::AbstractSocket.paths
    end
  end
end
