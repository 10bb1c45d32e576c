# frozen_string_literal: true

# What every process of a swarm needs from the system.
#
# SelfPipe makes signals readable. OrphanGuard ends molds and nodes whose supervisor has died.
# Privileges and SocketActivation change what a node runs as, and which sockets it inherits.
# EventBus, StateMachine and Persisted serve the supervisor's components: they publish facts, change
# state by a table, and keep facts over an upgrade.
module Skep
  class Swarm
    module Runtime
      # Facts that an object keeps when the supervisor is replaced by another program (Upgrade), as
      # plain data.
      #
      #   class RestartHistory
      #     include Persisted
      #     KEPT = %i[times counts last].freeze
      #   end
      #   plain = deaths.dump                        # => {"times" => …, "counts" => …, "last" => …}
      #   Nodes::RestartHistory.new.restore(plain)   # => one with the same facts
      #
      # A class with variables that aren't plain data has a `dump` and a `restore` of its own, which
      # call these.
      module Persisted
        def dump #: () -> Hash[String, untyped]
          self.class::KEPT.to_h { |name| [name.to_s, instance_variable_get(:"@#{name}")] }
        end

        def restore(plain) #: (Hash[String, untyped]) -> self
          self.class::KEPT.each do |name|
            instance_variable_set(:"@#{name}", plain.fetch(name.to_s))
          end
          self
        end
      end
    end
  end
end

require "skep/swarm/runtime/event_bus"
require "skep/swarm/runtime/state_machine"
require "skep/swarm/runtime/self_pipe"
require "skep/swarm/runtime/orphan_guard"
require "skep/swarm/runtime/privileges"
require "skep/swarm/runtime/socket_activation"
