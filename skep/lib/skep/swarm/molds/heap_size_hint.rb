# frozen_string_literal: true

require "json"

# Remembers how large the heap of a swarm file's mold was, so that the next mold gets it
# before it boots.
#
#   heap = HeapSizeHint.new("swarm.rb")
#   heap.remember(slots: 4_000_000, reshare: false)
#   heap.environment     # => {"RUBY_GC_HEAP_INIT_SLOTS" => "4400000", …}, or {}
#   heap.requires        # => ["-rFEATURE"] of the gem for `reshare`, or []
#   heap.forget          # a mold with this hint didn't boot
#
# Only Ruby 3.1 profits: it places the records of heap pages that it makes at once side by
# side, so that a child's first full collection copies a few pages in place of thousands.
# Later Rubies make them one by one, and get no hint; nor do swarms whose user sets
# RUBY_GC_HEAP_INIT_SLOTS. With `reshare`, the gem for it places them itself.
# The hint is a file in the run directory. It is read only if this user has written it.
module Skep
  class Swarm
    module Molds
      class HeapSizeHint
        SLOTS = Processes::MoldMain::HEAP_SLOTS
        GIVEN = Processes::MoldMain::HEAP_SLOTS_GIVEN
        HELPS = RUBY_VERSION < "3.2"
        WORTH = 200_000..1_000_000_000 # slots: with fewer a collection has little to copy
        ROOM = 1.1 # boot makes objects that it drops again
        private_constant :SLOTS, :GIVEN, :HELPS, :WORTH, :ROOM

        def initialize(file, directory: Definition::RunDirectory.path, env: ENV)
          @file = File.expand_path(file)
          @path = File.join(directory, "heap-#{key}.json")
          @env = env
        end

        # A heap that no hint would help isn't remembered.
        def remember(slots:, reshare:)
          return forget unless reshare || WORTH.cover?(slots)

          facts = { "file" => name, "ruby" => RUBY_VERSION, "slots" => slots, "reshare" => reshare }
          return if facts == read

          Definition::RunDirectory.new(File.dirname(@path)).use
          replace(JSON.generate(facts))
        rescue SystemCallError, Definition::RunDirectory::PathUnusable # the next one boots without
          nil
        end

        # The hint may have been too large, if there is less memory now.
        def forget
          File.delete(@path)
        rescue SystemCallError # there is none, or it isn't ours
          nil
        end

        def environment
          slots, reshare = read.values_at("slots", "reshare")
          return {} if reshare || !HELPS || @env.key?(SLOTS)
          return {} unless slots.is_a?(Integer) && WORTH.cover?(slots)

          { SLOTS => (slots * ROOM).ceil.to_s, GIVEN => "1" }
        end

        # Without the gem, Ruby would fail before the mold could say why.
        def requires
          hook = Skep::Fork::ReshareHook
          read["reshare"] == true && hook.errors.empty? ? hook.command_line : []
        end

        private

        # The path in few characters: FNV-1a of 64 bits. The file has the path itself.
        def key
          @file.each_byte.reduce(0xcbf29ce484222325) do |hash, byte|
            ((hash ^ byte) * 0x100000001b3) & (2**64 - 1)
          end.to_s(36)
        end

        # The path as text, whatever encoding the locale gives it.
        def name = @file.dup.force_encoding(Encoding::UTF_8).scrub

        # Makes a new file, and never writes to an existing one.
        def replace(text)
          beside = "#{@path}.#{Process.pid}"
          File.delete(beside) if File.exist?(beside) || File.symlink?(beside)
          flags = File::WRONLY | File::CREAT | File::EXCL | File::NOFOLLOW
          File.open(beside, flags, 0o600) { |file| file.write(text) }
          File.rename(beside, @path)
        end

        # Returns {} if the hint is of another swarm file, Ruby or user.
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
