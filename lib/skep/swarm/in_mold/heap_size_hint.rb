# frozen_string_literal: true

require "json"

# How large a swarm file's mold was the last time, so that the next one can be given its heap before
# it boots.
#
#   heap = HeapSizeHint.new("swarm.rb")
#   heap.remember(slots: 4_000_000, reshare: false)
#   heap.environment     # => {"RUBY_GC_HEAP_INIT_SLOTS" => "4400000", …}, or {}
#   heap.requires        # => ["-rskep/reshare"], or []
#   heap.forget          # a mold that was given it didn't boot
#   HeapSizeHint.leave   # in the mold: what it starts itself gets none of it
#
# Ruby 3.1 lays the records of pages it makes at once side by side, so that a child's first full
# collection copies a few pages in place of thousands; later Rubies make theirs one by one all the
# same, and get nothing. Whoever sets RUBY_GC_HEAP_INIT_SLOTS is left alone.
# With `reshare` it is not needed, as skep/reshare lays them side by side itself.
# It is kept beside the status sockets, and believed only where this user wrote it.
module Skep
  class Swarm
    module InMold
      class HeapSizeHint
        SLOTS = "RUBY_GC_HEAP_INIT_SLOTS"
        OURS = "SKEP_HEAP_SLOTS"
        HELPS = RUBY_VERSION < "3.2"
        WORTH = 200_000..1_000_000_000 # slots: below, a collection has little to copy
        ROOM = 1.1 # for what boot makes and drops again
        private_constant :SLOTS, :OURS, :HELPS, :WORTH, :ROOM

        # Takes out of the mold's environment what was put there for its own boot.
        def self.leave(env = ENV) #: (?untyped) -> void
          env.delete(SLOTS) if env.delete(OURS)
        end

        def initialize(file, directory: Definition::Config.run_directory, env: ENV)
          @file = File.expand_path(file)
          @path = File.join(directory, "heap-#{key}.json")
          @env = env
        end

        def remember(slots:, reshare:) #: (slots: Integer, reshare: bool) -> void
          facts = { "file" => name, "ruby" => RUBY_VERSION, "slots" => slots, "reshare" => reshare }
          return if facts == read

          Runtime::RunDirectory.new(File.dirname(@path)).use
          replace(JSON.generate(facts))
        rescue SystemCallError, Runtime::NameLock::PathUnusable # the next mold boots as the first
          nil
        end

        # It may have been too much: for memory that has become less, for one.
        def forget #: () -> void
          File.delete(@path)
        rescue SystemCallError # there is none, or it isn't ours
          nil
        end

        def environment #: () -> Hash[String, String]
          slots, reshare = read.values_at("slots", "reshare")
          return {} if reshare || !HELPS || @env.key?(SLOTS)
          return {} unless slots.is_a?(Integer) && WORTH.cover?(slots)

          { SLOTS => (slots * ROOM).ceil.to_s, OURS => "1" }
        end

        def requires = read["reshare"] == true ? ["-rskep/reshare"] : [] #: () -> Array[String]

        private

        # The path in few characters: FNV-1a of 64 bits. Who shares it is told by the path inside.
        def key
          @file.each_byte.reduce(0xcbf29ce484222325) do |hash, byte|
            ((hash ^ byte) * 0x100000001b3) & (2**64 - 1)
          end.to_s(36)
        end

        # The path as text, whatever the locale takes its bytes for.
        def name = @file.dup.force_encoding(Encoding::UTF_8).scrub

        # A new file, never one that lies there.
        def replace(text)
          beside = "#{@path}.#{Process.pid}"
          File.delete(beside) if File.exist?(beside) || File.symlink?(beside)
          flags = File::WRONLY | File::CREAT | File::EXCL | File::NOFOLLOW
          File.open(beside, flags, 0o600) { |file| file.write(text) }
          File.rename(beside, @path)
        end

        # Nothing of another file's, Ruby's or user's.
        def read
          text = File.open(@path, File::RDONLY | File::NOFOLLOW | File::NONBLOCK) do |file|
            return {} unless file.stat.file? && file.stat.owned?

            file.binmode.read
          end
          facts = JSON.parse(text)
          ours = facts.is_a?(Hash) && facts.values_at("file", "ruby") == [name, RUBY_VERSION]
          ours ? facts : {}
        rescue SystemCallError, JSON::ParserError # gone meanwhile, or cut short
          {}
        end
      end
    end
  end
end
