# frozen_string_literal: true

# What must not be forgotten when the supervisor goes on as another program (Upgrade): facts that an
# object keeps in variables of its own, as plain data.
#
#   class Deaths
#     include Kept
#     KEPT = %i[times counts last].freeze
#   end
#   plain = deaths.keep              # => {"times" => …, "counts" => …, "last" => …}
#   Deaths.new.recall(plain)         # => one that knows the same
#
# Variables that hold more than plain data are the class' own business, in a `keep` and a `recall`
# that call these.
module Skep
  class Swarm
    module Kept
      def keep #: () -> Hash[String, untyped]
        self.class::KEPT.to_h { |name| [name.to_s, instance_variable_get(:"@#{name}")] }
      end

      def recall(plain) #: (Hash[String, untyped]) -> self
        self.class::KEPT.each { |name| instance_variable_set(:"@#{name}", plain.fetch(name.to_s)) }
        self
      end
    end
    private_constant :Kept
  end
end
