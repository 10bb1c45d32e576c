# frozen_string_literal: true

require "rbconfig"

# A program that supervises workers, which all run programs/worker_app.rb.
#
#   server = ServerUnderTest.new("Puma", "server/programs/puma", gem: "puma")
#   server.subject("Puma", { workers: 2 }, group: "…") { |run| … }   # run: a ServerRun
#   server.command                                                   # => the command to spawn
#
# `tuned` are the settings that detect a hung worker soonest, `quick` those that replace a dead one
# soonest, if its documentation has any. Gems are loaded as by a user's program, under Bundler if
# the benchmark runs under it. The bare loop and skep run without it.
module Skep
  module Benchmarks
    class ServerUnderTest
      ROOT = File.expand_path("../..", __dir__)
      BARE = { "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLER_SETUP" => nil }.freeze
      private_constant :ROOT, :BARE

      attr_reader :name
      attr_reader :tuned
      attr_reader :quick

      def initialize(name, program, gem: nil, tuned: {}, quick: {}, broker: false)
        @name, @program, @gem = name, "benchmark/#{program}.rb", gem
        @tuned, @quick, @broker = tuned, quick, broker
      end

      # Yields the environment of its program, with the services that it needs.
      def surrounded(busy:, &block)
        return yield(@gem ? {} : BARE) unless @broker

        Broker.during(busy:, &block)
      end

      def command
        program = ours? ? Checkout.file(@program) : File.join(ROOT, @program)
        [RbConfig.ruby, *([Checkout.exe, "run"] if ours?), program]
      end

      # Returns true if its workers take work by HTTP, over a socket in its folder.
      def web? = @program.match?(%r{/(?:puma|pitchfork)\.rb\z})

      def ours? = @program.end_with?("/swarm.rb")

      # Returns a subject whose block measures the running server; skipped if it can't run.
      # wishes: a Hash, or a block that returns one for each measurement.
      def subject(name, wishes = {}, **facts, &measure)
        peer = Peer.find(@gem) if @gem
        why = ServerRun.refusal || (Peer.missing(@gem) if @gem && !peer)
        settings = wishes.is_a?(Proc) ? {} : wishes
        Subject.new(name, settings:, version: peer&.to_s, skipped: why, ours: ours?, **facts) do
          asked = wishes.is_a?(Proc) ? wishes.call : wishes
          ServerRun.of(self, **asked, &measure)
        end
      end

      PROGRAMS = "server/programs"
      BARE_LOOP = new("a bare loop", "#{PROGRAMS}/bare")
      OURS = new("skep", "#{PROGRAMS}/swarm", tuned: { liveness_timeout: 1, kill_timeout: 1 })
      # Milliseconds: the least that Karafka accepts. Its nodes report each 10 s.
      KARAFKA_QUICK = { supervision_interval: 1_000, node_restart_timeout: 1_000 }.freeze
      KARAFKA_TUNED = { **KARAFKA_QUICK, node_report_timeout: 15_000,
                        shutdown_timeout: 5_000 }.freeze
      PEERS = [
        new("Pitchfork", "#{PROGRAMS}/pitchfork", gem: "pitchfork", tuned: { timeout: 3 }),
        new("Puma", "#{PROGRAMS}/puma", gem: "puma",
                                        tuned: { worker_check_interval: 1, worker_timeout: 2 }),
        new("async-container", "#{PROGRAMS}/async_container", gem: "async-container",
                                                              tuned: { health_check_timeout: 1 }),
        new("serverengine", "#{PROGRAMS}/serverengine",
            gem: "serverengine",
            tuned: { worker_heartbeat_timeout: 2, worker_immediate_kill_timeout: 1 }),
        new("Solid Queue", "#{PROGRAMS}/solid_queue", gem: "solid_queue"),
        new("Karafka's swarm", "#{PROGRAMS}/karafka",
            gem: "karafka", broker: true, quick: KARAFKA_QUICK,
            tuned: KARAFKA_TUNED)
      ].freeze
      private_constant :PROGRAMS, :KARAFKA_QUICK
    end
  end
end
