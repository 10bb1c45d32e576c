# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # What one check has before its eyes, looked at once: descriptors, native threads, Ruby's
      # objects. Whoever accounts for a descriptor claims it: the next doesn't tell it again.
      #
      #   survey = Survey.new(except: [channel])
      #   survey.descriptors("socket", "pipe")     # those of these types that nobody claimed
      #   survey.claim(descriptors)
      #   survey.objects("PG::Connection")         # [] unless that class is loaded
      #   survey.io(7)                             # Ruby's own object for fd 7, or nil
      #   survey.place(object)                     # "made at app.rb:12", where Ruby traces that
      #
      # To look for a class of objects is to walk the heap, 13 ms for each million of slots: so the
      # inspectors ask the kernel first, and walk only for what there is.
      class Survey
        attr_reader :root #: String

        #: (?except: Array[IO | _ToIO], ?root: String) -> void
        def initialize(except: [], root: "/proc")
          @root = root
          @all = Descriptor.all(root:)
          @claimed = {}.compare_by_identity
          @objects = {}
          claim(shared(except))
        end

        # Is there a table of descriptors to look at?
        #
        #: () -> bool
        def sees_descriptors? = @all.any?

        #: (*String types) -> Array[Descriptor]
        def descriptors(*types)
          @all.reject { |one| @claimed.key?(one) || (types.any? && !types.include?(one.type)) }
        end

        #: (Array[Descriptor]) -> void
        def claim(descriptors) = descriptors.each { |one| @claimed[one] = true }

        # That of a number, with its copies; none if it isn't listed or is claimed already.
        #
        #: (Integer? fd) -> Array[Descriptor]
        def numbered(fd)
          target = descriptors.find { |one| one.fd == fd }&.target
          descriptors.select { |one| one.target == target && (one.inode || one.fd == fd) }
        end

        # By inode, of the sockets that this process has.
        #
        #: () -> SocketTable
        def sockets
          inodes = @all.select { |one| one.type == "socket" }.filter_map(&:inode)
          @sockets ||= SocketTable.new(inodes, root:)
        end

        # Those that aren't Ruby's and that nobody took yet.
        #
        #: () -> Array[NativeThread]
        def native_threads = @native_threads ||= NativeThread.strangers

        #: (Array[NativeThread]) -> void
        def take_threads(threads) = @native_threads = native_threads - threads

        # The living instances of a class, which is never loaded for it.
        #
        #: (String name) -> Array[Object]
        def objects(name)
          @objects[name] ||= (type = constant(name)) ? ObjectSpace.each_object(type).to_a : []
        end

        # Each open IO of Ruby's by its fd.
        #
        #: (Integer fd) -> IO?
        def io(fd)
          @ios ||= objects("IO").each_with_object({}) do |io, ios|
            ios[io.fileno] = io if !ios.key?(io.fileno) || io.autoclose?
          rescue IOError
            next # Closed, or never opened.
          end
          @ios[fd]
        end

        # Is it one of those by which Ruby wakes its own threads? It makes them anew in a child.
        #
        #: (Descriptor) -> bool
        def reserved?(descriptor)
          return false unless descriptor.close_on_exec?

          IO.for_fd(descriptor.fd, autoclose: false)
          false
        rescue ArgumentError
          true # "The given fd is not accessible because RubyVM reserves it"
        rescue SystemCallError
          false # Closed since, or not to be had so.
        end

        #: (Object) -> String?
        def place(object)
          return unless ObjectSpace.respond_to?(:allocation_sourcefile)

          file = ObjectSpace.allocation_sourcefile(object)
          "made at #{file}:#{ObjectSpace.allocation_sourceline(object)}" if file
        end

        private

        # What the standard streams share is meant to be shared, too.
        #
        #: (Array[IO | _ToIO]) -> Array[Descriptor]
        def shared(except)
          fds = [0, 1, 2] + except.map(&:to_io).reject(&:closed?).map(&:fileno)
          targets = @all.select { |one| fds.include?(one.fd) && one.inode }.map(&:target)
          @all.select { |one| fds.include?(one.fd) || targets.include?(one.target) }
        end

        # Without waking an autoload.
        #
        #: (String name) -> Module?
        def constant(name)
          found = name.split("::").inject(Object) do |scope, part|
            break if scope.autoload?(part) || !scope.const_defined?(part, false)

            scope.const_get(part, false)
          end
          found if found.is_a?(Module)
        end
      end
      private_constant :Survey
    end
  end
end
