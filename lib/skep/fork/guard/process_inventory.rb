# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # What one check has before its eyes, looked at once: descriptors, native threads, Ruby's
      # objects. Whoever accounts for a descriptor claims it: the next doesn't tell it again.
      #
      #   inventory = ProcessInventory.new(except: [channel])
      #   inventory.descriptors("socket", "pipe")     # those of these types that nobody claimed
      #   inventory.claim(descriptors)
      #   inventory.objects("PG::Connection")         # [] unless that class is loaded
      #   inventory.io(7)                             # Ruby's own object for fd 7, or nil
      #   inventory.place(object)                     # "made at app.rb:12", where Ruby traces that
      class ProcessInventory
        attr_reader :root #: String

        #: (?except: Array[IO | _ToIO], ?root: String) -> void
        def initialize(except: [], root: "/proc")
          @root = root
          @claimed = {}.compare_by_identity
          @objects = HeapObjects.new
          @except = except
        end

        # Is there a table of descriptors to look at?
        #
        #: () -> bool
        def sees_descriptors? = all.any?

        #: (*String types) -> Array[FileDescriptor]
        def descriptors(*types)
          all.reject { |one| @claimed.key?(one) || (types.any? && !types.include?(one.type)) }
        end

        #: (Array[FileDescriptor]) -> void
        def claim(descriptors) = descriptors.each { |one| @claimed[one] = true }

        # That of a number, with its copies; none if it isn't listed or is claimed already.
        #
        #: (Integer? fd) -> Array[FileDescriptor]
        def numbered(fd)
          target = descriptors.find { |one| one.fd == fd }&.target
          descriptors.select { |one| one.target == target && (one.inode || one.fd == fd) }
        end

        # Those that nobody claimed of sockets with another end.
        #
        #: () -> Array[FileDescriptor]
        def connected
          descriptors("socket").select { |one| sockets[one.inode]&.state == :connected }
        end

        # Those that nobody claimed by which a process wakes itself: eventfds, and pipes with both
        # ends here.
        #
        #: (*String types) -> Array[FileDescriptor]
        def inner(*types)
          types = %w[pipe eventfd] if types.empty?
          descriptors(*types).group_by(&:target).values.select do |ends|
            ends.first.type != "pipe" || ends.map(&:writes?).uniq.size == 2
          end.flatten
        end

        # Is one of these left, a :connection or a :file? Yes where nobody can tell; nil needs none.
        #
        #: (Symbol? need) -> bool
        def any?(need)
          return true unless need && sees_descriptors?

          need == :file ? descriptors("file").any? : connected.any?
        end

        # By inode, of the sockets that this process has.
        #
        #: () -> SocketTable
        def sockets
          inodes = all.select { |one| one.type == "socket" }.filter_map(&:inode)
          @sockets ||= SocketTable.new(inodes, root:)
        end

        # Those that aren't Ruby's and that nobody took yet.
        #
        #: () -> Array[NativeThread]
        def native_threads = @native_threads ||= NativeThread.strangers

        #: (Array[NativeThread]) -> void
        def take_threads(threads) = @native_threads = native_threads - threads

        #: (String name) -> Array[Object]
        def objects(name) = @objects.of(name)

        #: (Integer fd) -> IO?
        def io(fd) = @objects.io(fd)

        #: (Object) -> String?
        def place(object) = @objects.place(object)

        # Is it one of those by which Ruby wakes its own threads? It makes them anew in a child.
        #
        #: (FileDescriptor) -> bool
        def reserved?(descriptor)
          return false unless descriptor.close_on_exec?

          IO.for_fd(descriptor.fd, autoclose: false)
          false
        rescue ArgumentError
          true # "The given fd is not accessible because RubyVM reserves it"
        rescue SystemCallError
          false # Closed since, or not to be had so.
        end

        private

        # Listed when first asked for: should that fail, it is the asking inspector that failed.
        #
        #: () -> Array[FileDescriptor]
        def all
          return @all if @all

          @all = FileDescriptor.all(root:)
          claim(shared)
          @all
        rescue Errno::EACCES
          @all = [] # After a change of user the kernel may hide a process' /proc from itself.
        end

        # What the standard streams share is meant to be shared, too.
        #
        #: () -> Array[FileDescriptor]
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
