# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # What one check looks at, listed once: descriptors, native threads, Ruby's objects. An
      # inspector claims the descriptors it has accounted for, so that no other reports them.
      #
      #   inventory = ProcessInventory.new(except: [channel])
      #   inventory.descriptors("socket")        # unclaimed ones of this type
      #   inventory.connected                    # unclaimed sockets that have a peer
      #   inventory.claim(descriptors)
      #   inventory.objects("PG::Connection")    # [] unless that class is loaded
      #   inventory.io(7)                        # the IO object of fd 7, or nil
      #   inventory.place(object)                # "made at app.rb:12", if Ruby traces allocations
      class ProcessInventory
        def initialize(except: [], root: "/proc")
          @root = root
          @claimed = {}.compare_by_identity
          @peers = {}.compare_by_identity
          @objects = HeapObjects.new
          @except = except
        end

        # Returns true if this system lists descriptors.
        def sees_descriptors? = all.any?

        def descriptors(*types)
          all.reject { |one| @claimed.key?(one) || (types.any? && !types.include?(one.type)) }
        end

        def claim(descriptors) = descriptors.each { |one| @claimed[one] = true }

        # Returns the descriptor of a number and its copies; [] if it is unknown or claimed.
        def numbered(fd)
          target = descriptors.find { |one| one.fd == fd }&.target
          descriptors.select { |one| one.target == target && (one.inode || one.fd == fd) }
        end

        # Returns the unclaimed descriptors of connected sockets.
        def connected = descriptors("socket").select { |one| peer(one) }

        # Returns the other end of a socket, or nil if it is not connected.
        def peer(descriptor)
          return @peers[descriptor] if @peers.key?(descriptor)

          @peers[descriptor] = SocketPeer.of(descriptor.fd)
        end

        # Returns true if an unclaimed :connection or :file is left, if the system does not list
        # descriptors, and for nil.
        def any?(need)
          return true unless need && sees_descriptors?

          need == :file ? descriptors("file").any? : connected.any?
        end

        # Returns the unclaimed native threads that are not Ruby's.
        def native_threads = @native_threads ||= NativeThreads::Task.foreign

        def claim_threads(threads) = @native_threads = native_threads - threads

        # Returns the unclaimed Ruby threads but the calling one.
        def ruby_threads = @ruby_threads ||= Thread.list - [Thread.current]

        def claim_ruby_threads(&) = @ruby_threads = ruby_threads.reject(&)

        def objects(name) = @objects.of(name)

        def io(fd) = @objects.io(fd)

        def place(object) = @objects.place(object)

        private

        # Listed at the first use, so that a failure is that of the inspector in progress.
        def all
          return @all if @all

          @all = OS::ProcessState::FileDescriptor.all(root: @root)
          claim(shared)
          @all
        rescue Errno::EACCES
          @all = [] # After a change of user the kernel may hide a process' /proc from itself.
        end

        # The standard streams, the exceptions, and their copies: meant to be shared.
        def shared
          fds = [0, 1, 2] + @except.map(&:to_io).reject(&:closed?).map(&:fileno)
          targets = all.select { |one| fds.include?(one.fd) && one.inode }.map(&:target)
          all.select { |one| fds.include?(one.fd) || targets.include?(one.target) }
        end
      end
      private_constant :ProcessInventory
    end
  end
end
