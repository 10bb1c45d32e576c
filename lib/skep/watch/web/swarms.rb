# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # Which swarms there are to show, by name, and where their status sockets are: those that were
      # named, or all that are in this user's directory or ever were since it was first looked at.
      #
      #   swarms.paths                  # => {"billing" => "/run/skep/billing.sock"}
      #   swarms.path("billing")        # Refused where there is none
      #   swarms.node("billing", "0")   # => what its status says of that node
      class Swarms
        def initialize(names, controls) #: (Array[String], Array[String]) -> void
          @directory = Swarm::Definition::RunDirectory.path
          Swarm::Definition::RunDirectory.new(@directory).check unless names.empty? && controls.any?
          @seen = [*names.map { |name| socket(name) }, *controls].to_h { |path| [name(path), path] }
          @open = @seen.empty?
        end

        def paths #: () -> Hash[String, String]
          @open ? @seen = { **@seen, **there } : @seen
        end

        def path(name) #: (String?) -> String
          paths[name] or raise Refused.new(404, "there is no swarm #{name.inspect}")
        end

        #: (String?, String?) -> Hash[String, untyped]
        def node(swarm, id)
          status = Query.new(path(swarm)).status
          status["nodes"].find { |node| node["id"].to_s == id } or
            raise Refused.new(404, "swarm #{swarm} has no node #{id.inspect}")
        rescue Query::Failed, Query::Declined
          raise Refused.new(503, "swarm #{swarm} doesn't answer")
        end

        #: (String?, String, **untyped) -> Hash[String, untyped]
        def ask(swarm, command, **facts)
          Query.new(path(swarm)).ask(command, **facts)
        rescue Query::Failed
          raise Refused.new(503, "swarm #{swarm} doesn't answer")
        end

        private

        def socket(name) = File.join(@directory, "#{name}.sock")
        def name(path) = File.basename(path, ".sock").scrub

        def there
          Dir.glob("*.sock", base: @directory).sort.to_h do |file|
            [name(file), File.join(@directory, file)]
          end
        end
      end
      private_constant :Swarms
    end
  end
end
