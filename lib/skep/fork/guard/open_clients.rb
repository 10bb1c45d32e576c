# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Finds open clients of databases, brokers and the like: those of KnownClients.
      class OpenClients
        WHAT = "clients"

        def initialize(inventory)
          @inventory = inventory
          @seen = {}.compare_by_identity
          @fds = {}
          @pools = ActiveRecordPools.new(inventory)
        end

        def findings
          KnownClients::ALL.flat_map do |type|
            next [] unless @inventory.any?(type.needs)

            held = @inventory.objects(type.name).select { |object| new?(object, type) }
            threads = held.any? ? native_threads(type) : []
            held.filter_map { |object| find(object, type, threads) }
          end
        end

        private

        # Returns true if it is open and not reported yet, neither as an instance of a superclass
        # nor as a part of a client that has the same descriptor.
        def new?(object, type)
          return false if @seen.key?(object) || !type.open?(object)

          @seen[object] = true
          fd = type.fd(object)
          return false if @fds.key?(fd)

          @fds[fd] = true if fd
          true
        end

        def find(object, type, threads)
          held = descriptors(object, type)
          @inventory.claim(held)
          return if type.mute?(object)

          pooled = @pools.own?(object)
          Finding.new(kind: :client, severity: pooled ? :note : :breaks,
                      what: what(object, type), where: where(object, held, threads),
                      advice: pooled ? ActiveRecordPools::ADVICE : type.advice)
        end

        def what(object, type)
          peer = type.peer(object)
          "an open #{type.name}#{" of #{peer}" if peer}"
        end

        def where(object, held, threads)
          parts = [@inventory.place(object), *held.map(&:to_s)]
          parts << "native threads #{threads.map(&:name).join(" ")}" if threads.any?
          parts.compact!
          parts.any? ? parts.join(", ") : "made in Ruby"
        end

        def descriptors(object, type)
          return foreign_sockets if type.threads

          @inventory.numbered(type.fd(object)) + files(type.file(object)) +
            sockets_to(type.ending(object))
        end

        # A database's file, its journal, its shared memory.
        def files(path)
          return [] unless path

          paths = ["", "-wal", "-shm", "-journal"].map { |suffix| path + suffix }
          @inventory.descriptors("file").select { |one| paths.include?(one.target) }
        end

        # A socket of a C library whose peer's address has this end.
        def sockets_to(ending)
          return [] unless ending

          foreign_sockets.select do |one|
            @inventory.peer(one)&.address.to_s.end_with?(ending)
          end.first(1)
        end

        # Connected sockets that a C library opened: no Ruby object owns them.
        def foreign_sockets = @inventory.connected.reject { |one| @inventory.io(one.fd) }

        # Claims the native threads of a client's library.
        def native_threads(type)
          return [] unless type.threads

          threads = @inventory.native_threads.select { |task| type.threads.match?(task.name) }
          @inventory.claim_threads(threads)
          threads
        end

        # The database connections in Active Record's pools. The pools discard them in a child
        # (Rails 5.2 on), if the fork is one that Ruby makes.
        class ActiveRecordPools
          ADAPTER = "ActiveRecord::ConnectionAdapters::AbstractAdapter"
          RAW = %i[@raw_connection @connection].freeze # From Rails 7.1 on; before.
          ADVICE = "Active Record gives it up in a child, where it must connect again: " \
                   "disconnect before the fork all the same, by clear_all_connections! for one"
          private_constant :ADAPTER, :RAW

          def initialize(inventory)
            @inventory = inventory
          end

          # Returns true if a pool holds this connection.
          def own?(object) = raw.key?(object)

          private

          def raw
            adapters = @inventory.objects(ADAPTER)
            @raw ||= adapters.each_with_object({}.compare_by_identity) do |one, raw|
              RAW.each { |name| raw[one.instance_variable_get(name)] = true }
            end
          end
        end
        private_constant :ActiveRecordPools
      end
      private_constant :OpenClients
    end
  end
end
