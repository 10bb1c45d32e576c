# frozen_string_literal: true

# One kind of work of a swarm: a source with a handler, or a plain block.
#
#   swarm.work { |child| … }                              # a block runs as it is
#   swarm.work(source, nodes: 2) { |batch, child| … }     # a source feeds the handler
#
# A source answers `errors`, `facts`, `threads` and `run(child, handler)`; one that brings its own
# handler answers `handler`, too, and needs no block. See docs/work.md.
module Skep
  class Swarm
    module Definition
      class WorkSpec
        attr_reader :nodes #: Integer?
        attr_reader :source #: untyped
        attr_reader :handler #: Proc?

        def initialize(source, nodes, handler) #: (untyped, Integer?, Proc?) -> void
          @source = source
          @nodes = nodes
          @handler = handler || (source.handler if source.respond_to?(:handler))
        end

        def threads = @source ? @source.threads : 1 #: () -> Integer

        # What the supervisor knows of this work: plain data, no secrets.
        def to_plain #: () -> Hash[String, untyped]
          { "nodes" => nodes, "threads" => threads, "errors" => errors,
            "facts" => @source ? @source.facts : { "kind" => "block" } }
        end

        # Runs the work in a child until it returns.
        def run(child) #: (Child) -> void
          return @handler.call(child) unless @source

          runner = Swarm.runner || ->(source, *given) { source.run(*given) }
          runner.call(@source, child, @handler)
        end

        private

        def errors
          unless @handler
            return ["a work without a block does nothing: give it one, `swarm.work(…) { |…| … }`"]
          end

          @source ? @source.errors : []
        end
      end
    end
  end
end
