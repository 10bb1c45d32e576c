# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Open clients of databases, brokers and the like: Clients tells which.
      class OpenClients
        WHAT = "clients"

        #: (ProcessInventory) -> void
        def initialize(inventory)
          @inventory = inventory
          @seen = {}.compare_by_identity
          @fds = {}
          @pools = ActiveRecord.new(inventory)
        end

        #: () -> Array[Finding]
        def findings
          KnownClients::ALL.flat_map do |type|
            next [] unless @inventory.any?(type.needs)

            held = @inventory.objects(type.name).select { |object| new?(object, type) }
            threads = held.any? ? native_threads(type) : []
            held.filter_map { |object| find(object, type, threads) }
          end
        end

        private

        # Open, and not told already: as an instance of a class it inherits from, or as a part of
        # a client that has its descriptor.
        #
        #: (Object, ClientType) -> bool
        def new?(object, type)
          return false if @seen.key?(object) || !type.open?(object)

          @seen[object] = true
          fd = type.fd(object)
          return false if @fds.key?(fd)

          @fds[fd] = true if fd
          true
        end

        #: (Object, ClientType, Array[NativeThread]) -> Finding?
        def find(object, type, threads)
          held = descriptors(object, type)
          @inventory.claim(held)
          return if type.mute?(object)

          pooled = @pools.owns?(object)
          Finding.new(kind: :client, severity: pooled ? :note : :breaks,
                      what: what(object, type), where: where(object, held, threads),
                      advice: pooled ? ActiveRecord::ADVICE : type.advice)
        end

        #: (Object, ClientType) -> String
        def what(object, type)
          peer = type.peer(object)
          "an open #{type.name}#{" of #{peer}" if peer}"
        end

        #: (Object, Array[FileDescriptor], Array[NativeThread]) -> String
        def where(object, held, threads)
          parts = [@inventory.place(object), *held.map(&:to_s)]
          parts << "native threads #{threads.map(&:name).join(" ")}" if threads.any?
          parts.compact!
          parts.any? ? parts.join(", ") : "made in Ruby"
        end

        #: (Object, ClientType) -> Array[FileDescriptor]
        def descriptors(object, type)
          return foreign(@inventory.inner + @inventory.connected) if type.threads

          @inventory.numbered(type.fd(object)) + files(type.file(object)) +
            sockets_to(type.ending(object))
        end

        # A database's file, its journal, its shared memory.
        #
        #: (String?) -> Array[FileDescriptor]
        def files(path)
          return [] unless path

          paths = ["", "-wal", "-shm", "-journal"].map { |suffix| path + suffix }
          @inventory.descriptors("file").select { |one| paths.include?(one.target) }
        end

        # One of a C library's that is connected to an address with this end.
        #
        #: (String?) -> Array[FileDescriptor]
        def sockets_to(ending)
          return [] unless ending

          foreign(@inventory.connected).select do |one|
            @inventory.sockets[one.inode]&.peer.to_s.end_with?(ending)
          end.first(1)
        end

        # Those that no object of Ruby's stands for: a C library opened them.
        #
        #: (Array[FileDescriptor]) -> Array[FileDescriptor]
        def foreign(descriptors)
          descriptors.reject { |one| @inventory.reserved?(one) || @inventory.io(one.fd) }
        end

        # Those are accounted for with it.
        #
        #: (ClientType) -> Array[NativeThread]
        def native_threads(type)
          return [] unless type.threads

          threads = @inventory.native_threads.select { |thread| type.threads.match?(thread.name) }
          @inventory.take_threads(threads)
          threads
        end
      end
      private_constant :OpenClients
    end
  end
end
