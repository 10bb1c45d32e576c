# frozen_string_literal: true

require_relative "forks"

# The subjects in Ruby: heaps of several sizes, plain and warmed up; native libraries; hooks.
module Skep
  module Benchmarks
    class Fork < Benchmark
      class InRuby
        TABLE = "Ruby: fork, exit! and wait"
        HEAP = "Ruby: million live objects"
        NATIVE = "Ruby: a native library loaded"
        HOOKS = "Ruby: what is added to a fork"
        BARE = "a bare Ruby"
        CALLBACKS = { "100 Skep.on_fork callbacks, before" => %i[before],
                      "100 Skep.on_fork callbacks, parent" => %i[parent],
                      "100 Skep.on_fork callbacks, child" => %i[child],
                      "100 of each" => %i[before parent child] }.freeze
        MILLIONS = [1, 2, 4, 8].freeze
        STANDARD = %w[zlib psych socket openssl fiddle].freeze
        GEMS = { "ffi" => "ffi", "karafka-rdkafka" => "rdkafka" }.freeze
        WARMUP = 'require "skep/fork"; Skep.warmup'
        PEER = "nakayoshi_fork"
        private_constant :MILLIONS, :STANDARD, :GEMS, :WARMUP, :PEER

        def self.plain(millions) = "#{millions} million objects"

        def self.warmed(millions) = "#{plain(millions)}, Skep.warmup"

        def initialize(milliseconds:, million:)
          @milliseconds = milliseconds
          @million = million
        end

        def subjects = table + heaps + peers + native + hooks

        private

        def table
          spawn = "spawn#{" as root" if Process.euid.zero?}"
          act = 'spawn("true")'
          [of(BARE, group: TABLE),
           of("a bare Ruby, skep/fork loaded", group: TABLE, setup: 'require "skep/fork"'),
           of("#{spawn}, a bare Ruby", group: TABLE, act:),
           of("#{spawn}, 4 million objects", group: TABLE, act:, millions: 4)]
        end

        def heaps
          MILLIONS.flat_map do |millions|
            [heap(InRuby.plain(millions), millions, "plain"),
             heap(InRuby.warmed(millions), millions, "Skep.warmup", setup: WARMUP)]
          end
        end

        def heap(name, millions, series, **how)
          of(name, group: HEAP, x: millions, series:, millions:, **how)
        end

        def peers
          name = InRuby.plain(4)
          [ready_made("#{name}, Process.warmup"), nakayoshi("#{name}, #{PEER}")]
        end

        def ready_made(name)
          call = "Process.warmup"
          return heap(name, 4, call, setup: call) if Process.respond_to?(:warmup)

          skipped(name, HEAP, "Ruby #{RUBY_VERSION} has no #{call}, 3.3 has")
        end

        def nakayoshi(name)
          peer = Peer.find(PEER) or return skipped(name, HEAP, Peer.missing(PEER))
          heap(name, 4, PEER, setup: "require #{PEER.inspect}", flags: peer.flags,
                              version: peer.to_s)
        end

        def native
          STANDARD.map { |name| of(name, group: NATIVE, setup: "require #{name.inspect}") } +
            GEMS.map { |name, feature| native_gem(name, feature) }
        end

        def native_gem(name, feature)
          peer = Peer.find(name) or return skipped(name, NATIVE, Peer.missing(name))
          of(name, group: NATIVE, setup: "require #{feature.inspect}", flags: peer.flags,
                   version: peer.to_s)
        end

        def hooks
          callbacks.merge(
            "100 calls in a child, without skep" => Forks.calls(milliseconds: long, count: 100),
            "a method prepended to Process._fork" => Forks.hooks(calls: @milliseconds * 30)
          ).map do |name, source|
            Subject.new(name, group: HOOKS, ours: CALLBACKS.key?(name)) do
              Program.run(source, ruby: Checkout.flags)
            end
          end
        end

        def callbacks
          CALLBACKS.transform_values do |moments|
            Forks.callbacks(milliseconds: long, count: 100, moments:)
          end
        end

        # A difference needs more rounds than the figures that it is computed from.
        def long = @milliseconds * 3

        def of(name, millions: 0, setup: "", act: "fork { exit!(true) }", flags: [], **place)
          objects = millions * @million
          source = Forks.source(milliseconds: @milliseconds, objects:, setup:, act:)
          Subject.new(name, against: BARE, ours: setup.include?("skep/"), **place) do
            Program.run(source, ruby: Checkout.flags + flags)
          end
        end

        def skipped(name, group, why) = Subject.new(name, group:, skipped: why)
      end
      private_constant :InRuby
    end
  end
end
