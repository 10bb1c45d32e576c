# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Finds gRPC in use: once it has a channel, it has half a dozen native threads and a Ruby
      # thread. They are reported as one, with the hooks that gRPC has for forks.
      class Grpc
        WHAT = "gRPC"
        THREADS = /\A(?:grpc_|event_engine|lifeguard|default-exec|resolver-exec|timer_manager)/
        HOOKS = "Skep.on_fork(before: -> { GRPC.prefork }, parent: -> { GRPC.postfork_parent }, " \
                "child: -> { GRPC.postfork_child })"
        SUPPORT = "GRPC_ENABLE_FORK_SUPPORT"
        ADVICE = "a child has none of its threads, and its calls fail there: make channels and " \
                 "stubs in each child (swarm.on_boot), or set #{SUPPORT}=1 in the environment " \
                 "and call #{HOOKS}"
        SET = "#{SUPPORT} is set: see that this is called, too: #{HOOKS}"
        private_constant :THREADS, :HOOKS, :SUPPORT, :ADVICE, :SET

        def initialize(inventory)
          @inventory = inventory
        end

        def findings
          return [] unless defined?(::GRPC)

          threads = @inventory.claim_threads(THREADS)
          return [] if threads.empty?

          # Its Ruby thread has no name, and Ruby doesn't know what has started it.
          @inventory.claim_ruby_threads(&RubyThreads.method(:started_in_c?))
          supported = !["", "0", "false"].include?(ENV[SUPPORT].to_s)
          [Finding.new(kind: :client, severity: supported ? :note : :breaks, what: "gRPC in use",
                       where: "native threads #{threads.map(&:name).uniq.join(" ")}",
                       advice: supported ? SET : ADVICE)]
        end
      end
      private_constant :Grpc
    end
  end
end
