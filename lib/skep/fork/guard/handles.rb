# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Open clients of databases, brokers and the like: Clients tells which.
      class Handles
        WHAT = "clients"

        #: (Survey) -> void
        def initialize(survey)
          @survey = survey
          @seen = {}.compare_by_identity
          @fds = {}
          @pools = ActiveRecord.new(survey)
        end

        #: () -> Array[Finding]
        def findings
          Clients::ALL.flat_map do |handle|
            next [] unless @survey.any?(handle.needs)

            held = @survey.objects(handle.name).select { |object| new?(object, handle) }
            threads = held.any? ? native_threads(handle) : []
            held.filter_map { |object| find(object, handle, threads) }
          end
        end

        private

        # Open, and not told already: as an instance of a class it inherits from, or as a part of
        # a client that has its descriptor.
        #
        #: (Object, Handle) -> bool
        def new?(object, handle)
          return false if @seen.key?(object) || !handle.open?(object)

          @seen[object] = true
          fd = handle.fd(object)
          return false if @fds.key?(fd)

          @fds[fd] = true if fd
          true
        end

        #: (Object, Handle, Array[NativeThread]) -> Finding?
        def find(object, handle, threads)
          held = descriptors(object, handle)
          @survey.claim(held)
          return if handle.mute?(object)

          pooled = @pools.owns?(object)
          Finding.new(kind: :handle, severity: pooled ? :note : :breaks,
                      what: what(object, handle), where: where(object, held, threads),
                      advice: pooled ? ActiveRecord::ADVICE : handle.advice)
        end

        #: (Object, Handle) -> String
        def what(object, handle)
          peer = handle.peer(object)
          "an open #{handle.name}#{" of #{peer}" if peer}"
        end

        #: (Object, Array[Descriptor], Array[NativeThread]) -> String
        def where(object, held, threads)
          parts = [@survey.place(object), *held.map(&:to_s)]
          parts << "native threads #{threads.map(&:name).join(" ")}" if threads.any?
          parts.compact!
          parts.any? ? parts.join(", ") : "made in Ruby"
        end

        #: (Object, Handle) -> Array[Descriptor]
        def descriptors(object, handle)
          return foreign(@survey.inner + @survey.connected) if handle.threads

          @survey.numbered(handle.fd(object)) + files(handle.file(object)) +
            sockets_to(handle.ending(object))
        end

        # A database's file, its journal, its shared memory.
        #
        #: (String?) -> Array[Descriptor]
        def files(path)
          return [] unless path

          paths = ["", "-wal", "-shm", "-journal"].map { |suffix| path + suffix }
          @survey.descriptors("file").select { |one| paths.include?(one.target) }
        end

        # One of a C library's that is connected to an address with this end.
        #
        #: (String?) -> Array[Descriptor]
        def sockets_to(ending)
          return [] unless ending

          foreign(@survey.connected).select do |one|
            @survey.sockets[one.inode]&.peer.to_s.end_with?(ending)
          end.first(1)
        end

        # Those that no object of Ruby's stands for: a C library opened them.
        #
        #: (Array[Descriptor]) -> Array[Descriptor]
        def foreign(descriptors)
          descriptors.reject { |one| @survey.reserved?(one) || @survey.io(one.fd) }
        end

        # Those are accounted for with it.
        #
        #: (Handle) -> Array[NativeThread]
        def native_threads(handle)
          return [] unless handle.threads

          threads = @survey.native_threads.select { |thread| handle.threads.match?(thread.name) }
          @survey.take_threads(threads)
          threads
        end
      end
      private_constant :Handles
    end
  end
end
