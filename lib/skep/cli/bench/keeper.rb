# frozen_string_literal: true

require "rbconfig"

# Something that keeps worker processes, and can be started: a program of keepers/ in which every
# worker does the same (keepers/errand.rb).
#
#   keeper = Keeper.new("Puma", "puma", gem: "puma", tuned: { worker_timeout: 2 })
#   keeper.contender("Puma", { workers: 2 }, group: "…") { |kept| … }   # kept: a Keeping
#   keeper.command                                # => what to spawn
#
# `tuned` are the settings by which it notices soonest that a worker hangs. Gems are loaded as a
# user's program loads them, under Bundler if the bench runs there; the bare loop and skep itself
# run without it.
module Skep
  module CLI
    class Bench
      class Keeper
        FOLDER = File.expand_path("keepers", __dir__)
        SKEP = File.expand_path("../../../../exe/skep", __dir__)
        BARE = { "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLER_SETUP" => nil }.freeze
        private_constant :FOLDER, :SKEP, :BARE

        attr_reader :name #: String
        attr_reader :tuned #: Hash[Symbol, untyped]

        #: (String, String, ?gem: String?, ?tuned: Hash[Symbol, untyped], ?broker: bool) -> void
        def initialize(name, program, gem: nil, tuned: {}, broker: false)
          @name, @program, @gem, @tuned = name, "#{FOLDER}/#{program}.rb", gem, tuned
          @broker = broker
        end

        # Yields the environment of its program, with what it needs beside it.
        #: (busy: bool) { (Hash[String, String?]) -> untyped } -> untyped
        def surrounded(busy:, &block)
          return yield(@gem ? {} : BARE) unless @broker

          Broker.during(busy:, &block)
        end

        def command #: () -> Array[String]
          ours? ? [RbConfig.ruby, SKEP, "run", @program] : [RbConfig.ruby, @program]
        end

        # Do its workers get their work by HTTP, over a socket in its folder?
        def web? = @program.match?(%r{/(?:puma|pitchfork)\.rb\z}) #: () -> bool

        def ours? = @program.end_with?("/swarm.rb") #: () -> bool

        # Measured by the block, with the keeper at work; skipped where that can't be.
        #: (String, Hash[Symbol, untyped], **untyped) { (Keeping) -> untyped } -> Contender
        def contender(name, wishes = {}, **facts, &measure)
          peer = Peer.find(@gem) if @gem
          why = Keeping.refusal || (Peer.missing(@gem) if @gem && !peer)
          Contender.new(name, version: peer&.to_s, skipped: why, **facts) do
            Keeping.of(self, **wishes, &measure)
          end
        end

        BARE_LOOP = new("a bare loop", "bare")
        OURS = new("skep", "swarm", tuned: { liveness_timeout: 1, kill_timeout: 1 })
        PEERS = [
          new("Pitchfork", "pitchfork", gem: "pitchfork", tuned: { timeout: 3 }),
          new("Puma", "puma", gem: "puma", tuned: { worker_check_interval: 1, worker_timeout: 2 }),
          new("async-container", "async_container", gem: "async-container",
                                                    tuned: { health_check_timeout: 1 }),
          new("serverengine", "serverengine", gem: "serverengine",
                                              tuned: { worker_heartbeat_timeout: 2,
                                                       worker_immediate_kill_timeout: 1 }),
          new("Solid Queue", "solid_queue", gem: "solid_queue"),
          new("Karafka's swarm", "karafka", gem: "karafka", broker: true)
        ].freeze
      end
    end
  end
end
