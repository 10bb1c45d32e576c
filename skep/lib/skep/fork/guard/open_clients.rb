# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Finds open clients of databases, brokers and the like: those of KnownClients.
      class OpenClients
        WHAT = "clients"
        POOLED = "Active Record gives it up in a child, where it must connect again: " \
                 "disconnect before the fork all the same, by clear_all_connections! for one"
        private_constant :POOLED

        def initialize(inventory)
          @inventory = inventory
          @seen = {}.compare_by_identity # clients, and descriptors of clients
        end

        def findings
          KnownClients.all(@inventory).flat_map do |type|
            open = possible?(type) ? @inventory.objects(type.name) : []
            open = open.select { |object| type.ask(:open?, object) && new?(type, object) }
            open.filter_map { |object| find(type, object) }
          end
        end

        private

        def possible?(type)
          !type.connected || !@inventory.sees_descriptors? || @inventory.connected.any?
        end

        # Returns false if it was seen as an instance of a superclass, or as a part of a client that
        # has the same descriptor.
        def new?(type, object)
          seen = [object, fd(type, object)].compact
          return false if seen.any? { |one| @seen.key?(one) }

          seen.each { |one| @seen[one] = true }
        end

        def fd(type, object)
          held = type.ask(:fd, object)
          held.respond_to?(:to_io) ? held.to_io.fileno : held
        rescue IOError
          nil # Closed.
        end

        def find(type, object)
          held = type.fd ? @inventory.numbered(fd(type, object)) : foreign_sockets
          @inventory.claim(held)
          threads = type.threads ? @inventory.claim_threads(type.threads) : []
          return if type.ask(:mute?, object)

          pooled = pooled?(object)
          peer = type.ask(:peer, object)&.to_s&.scrub
          Finding.new(kind: :client, severity: pooled ? :note : :breaks,
                      what: "an open #{type.name}#{" of #{peer}" if peer}",
                      where: where(object, held, threads), advice: pooled ? POOLED : type.advice)
        end

        def where(object, held, threads)
          parts = [*@inventory.place(object), *held]
          parts << "native threads #{threads.map(&:name).join(" ")}" if threads.any?
          parts.any? ? parts.join(", ") : "made in Ruby"
        end

        # Connected sockets that a C library opened: no Ruby object owns them.
        def foreign_sockets = @inventory.connected.reject { |one| @inventory.io(one.fd) }

        # Returns true for a database connection in a pool of Active Record, which discards it in a
        # child (Rails 5.2 on), if the fork is one that Ruby makes.
        def pooled?(object)
          adapters = @inventory.objects("ActiveRecord::ConnectionAdapters::AbstractAdapter")
          adapters.any? do |one|
            %i[@raw_connection @connection].any? do |name| # from Rails 7.1 on; before
              object.equal?(one.instance_variable_get(name))
            end
          end
        end
      end
      private_constant :OpenClients
    end
  end
end
