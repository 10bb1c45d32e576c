# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # What one check looks at, listed once: descriptors, native threads, Ruby's threads and
      # objects. An inspector claims what it has accounted for, so that no other reports it.
      #
      #   inventory = ProcessInventory.new(except: [channel])
      #   inventory.descriptors("socket")        # unclaimed ones of this type
      #   inventory.connected                    # unclaimed sockets that have a peer
      #   inventory.claim(descriptors)
      #   inventory.objects("PG::Connection")    # [] unless that class is loaded
      #   inventory.io(7)                        # the IO object of fd 7, or nil
      #   inventory.place(object)                # "made at app.rb:12", if Ruby traces allocations
      #
      # A search for a class walks the heap, 15 ms for each million of slots. So the inspectors ask
      # the kernel first and search only for what can be there, once. After a second Ractor was
      # started Ruby shows only objects that Ractors share.
      class ProcessInventory
        def initialize(except: [], root: "/proc")
          @except = except
          @root = root
          @claimed = {}.compare_by_identity
          @peers = Hash.new { |peers, one| peers[one] = SocketPeer.of(one.fd) }.compare_by_identity
          @objects = {}
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
        def peer(descriptor) = @peers[descriptor]

        # Returns the unclaimed native threads that are not Ruby's.
        def native_threads = @native_threads ||= NativeThreads::Task.foreign

        # Claims and returns those with such a name.
        def claim_threads(pattern)
          claimed, @native_threads = native_threads.partition { |one| pattern.match?(one.name) }
          claimed
        end

        # Returns the unclaimed Ruby threads but the calling one.
        def ruby_threads = @ruby_threads ||= Thread.list - [Thread.current]

        def claim_ruby_threads(&) = @ruby_threads = ruby_threads.reject(&)

        # Returns the live instances of a class, without loading it.
        def objects(name)
          @objects[name] ||= (type = constant(name)) ? ObjectSpace.each_object(type).to_a : []
        end

        # Returns the open IO that owns the fd; not one that borrows it from a C library
        # (`autoclose: false`).
        def io(fd)
          @ios ||= objects("IO").each_with_object({}) do |io, ios|
            ios[io.fileno] = io if io.autoclose?
          rescue StandardError, ScriptError
            next # Closed, never opened, or of a class that won't say.
          end
          @ios[fd]
        end

        def place(object)
          return unless ObjectSpace.respond_to?(:allocation_sourcefile)

          file = ObjectSpace.allocation_sourcefile(object)
          "made at #{file}:#{ObjectSpace.allocation_sourceline(object)}" if file
        end

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

        # Returns the constant of that name if it is loaded; triggers no autoload.
        def constant(name)
          found = name.split("::").inject(Object) do |scope, part|
            break if scope.autoload?(part) || !scope.const_defined?(part, false)

            scope.const_get(part, false)
          end
          found if found.is_a?(Module)
        end
      end
      private_constant :ProcessInventory
    end
  end
end
