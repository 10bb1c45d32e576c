# frozen_string_literal: true

module Skep
  module Work
    class Map
      # An exception on its way from a node to the caller, with its causes.
      #
      #   Ordeal.pack(error)     # => plain data
      #   Ordeal.unpack(data)    # => the same exception, or a NodeError in its place
      module Ordeal
        class << self
          #: (Exception) -> Array[Array[untyped]]
          def pack(error)
            chain = [error]
            while (cause = chain.last.cause) && !chain.include?(cause)
              chain << cause
            end
            chain.map { |link| describe(link) }
          end

          #: (Array[Array[untyped]]) -> Exception
          def unpack(chain)
            chain.map { |link| awaken(*link) }.reverse.reduce do |cause, error|
              error.cause ? error : bind(error, cause)
            end
          end

          private

          # Its class' name, message and backtrace; its bytes, or why there are none.
          #
          #: (Exception) -> [String, String, Array[String]?, String?, String?]
          def describe(error)
            facts = [error.class.inspect, error.message, error.backtrace]
            [*facts, dump(error), nil]
          rescue StandardError => e # whatever its own methods raise, too
            [*(facts || [error.class.inspect, "(no message)", nil]), nil, e.message]
          end

          # Its cause goes with it; where that can't, without: it has a link of its own.
          #
          #: (Exception) -> String
          def dump(error)
            Cargo.__dump(error)
          rescue StandardError
            raise unless error.cause

            bare = error.class.allocate.exception(error.message)
            error.instance_variables.each do |name|
              bare.instance_variable_set(name, error.instance_variable_get(name))
            end
            Cargo.__dump(bare)
          end

          #: (String, String, Array[String]?, String?, String?) -> Exception
          def awaken(error_class, message, backtrace, bytes, because)
            error = load(bytes) { |reason| because = reason } if bytes
            error ||= NodeError.new(error_class:, message:, because:)
            error.set_backtrace(backtrace) if backtrace && !error.frozen?
            error
          end

          #: (String bytes) { (String) -> void } -> Exception?
          def load(bytes)
            Cargo.load(bytes)
          rescue StandardError => e # a class that only the node knows, or one that refuses
            yield(e.message)
            nil
          end

          #: (Exception, Exception cause) -> Exception
          def bind(error, cause)
            raise error, cause: cause
          rescue Exception => e # rubocop:disable Lint/RescueException -- the very one just raised
            e
          end
        end
      end
      private_constant :Ordeal
    end
  end
end
