# frozen_string_literal: true

# What must not be forgotten when the supervisor goes on as another program (Upgrade): facts that an
# object keeps in variables of its own, as plain data.
#
#   class RestartHistory
#     include Persisted
#     KEPT = %i[times counts last].freeze
#   end
#   plain = deaths.keep                        # => {"times" => …, "counts" => …, "last" => …}
#   Nodes::RestartHistory.new.restore(plain)   # => one that knows the same
#
# Variables that hold more than plain data are the class' own business, in a `dump` and a `restore`
# that call these.
module Skep
  class Swarm
    module Runtime
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
