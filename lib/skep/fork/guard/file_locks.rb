# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Locks on files: a child shares flock(2)'s, and has none of fcntl(2)'s.
      class FileLocks
        WHAT = "file locks"
        SHARED = "a child shares it: the file stays locked until both have closed it, and either " \
                 "can unlock it for both: close the file in each child, or lock it after the fork"
        LOST = "a child doesn't have it, and works on as if it had: lock the file in each child"
        KINDS = { "FLOCK" => ["a flock", :note, SHARED],
                  "OFDLCK" => ["an open file description lock", :note, SHARED],
                  "POSIX" => ["a POSIX lock", :breaks, LOST],
                  "LEASE" => ["a lease", :note, SHARED] }.freeze
        MODES = { "READ" => "for reading", "WRITE" => "for writing" }.freeze
        private_constant :SHARED, :LOST, :KINDS, :MODES

        #: (ProcessInventory) -> void
        def initialize(inventory)
          @inventory = inventory
        end

        #: () -> Array[Finding]
        def findings
          found = @inventory.descriptors("file").flat_map do |one|
            one.locks.uniq.map { |type, mode| [type, mode, one.target, one] }
          end
          found.group_by { |lock| lock.first(3) }.filter_map do |(type, mode, path), locks|
            find(type, mode, path, locks.map(&:last))
          end
        end

        private

        #: (String type, String mode, String path, Array[FileDescriptor]) -> Finding?
        def find(type, mode, path, held)
          name, severity, advice = KINDS[type]
          return unless name

          Finding.new(kind: :file_lock, severity:, advice:, where: where(held),
                      what: "#{name} #{MODES.fetch(mode, mode.downcase)} of #{path}")
        end

        #: (Array[FileDescriptor]) -> String
        def where(held)
          ios = held.filter_map { |one| @inventory.io(one.fd) }
          place = ios.filter_map { |io| @inventory.place(io) }.first
          [place, *held].compact.join(", ")
        end
      end
      private_constant :FileLocks
    end
  end
end
