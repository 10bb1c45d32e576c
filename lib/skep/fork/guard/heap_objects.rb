# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Ruby's living objects, by their class.
      #
      #   objects.of("PG::Connection")   # [] unless that class is loaded
      #   objects.io(7)                  # Ruby's own object for fd 7, or nil
      #   objects.place(object)          # "made at app.rb:12", where Ruby traces that
      #
      # To look for a class is to walk the heap, some 15 ms for each million of slots: so the
      # inspectors ask the kernel first, and walk once, and only for what there is. Where there is a
      # second Ractor, Ruby shows only objects that Ractors share.
      class HeapObjects
        #: () -> void
        def initialize
          @found = {}
        end

        # The living instances of a class, which is never loaded for it.
        #
        #: (String name) -> Array[Object]
        def of(name)
          @found[name] ||= (type = constant(name)) ? ObjectSpace.each_object(type).to_a : []
        end

        # Each open IO of Ruby's by its fd; not one that only borrows it from a C library, as those
        # do that `reserved?` makes.
        #
        #: (Integer fd) -> IO?
        def io(fd)
          @ios ||= of("IO").each_with_object({}) do |io, ios|
            ios[io.fileno] = io if io.autoclose?
          rescue StandardError, ScriptError
            next # Closed, never opened, or of a class that won't say.
          end
          @ios[fd]
        end

        #: (Object) -> String?
        def place(object)
          return unless ObjectSpace.respond_to?(:allocation_sourcefile)

          file = ObjectSpace.allocation_sourcefile(object)
          "made at #{file}:#{ObjectSpace.allocation_sourceline(object)}" if file
        end

        private

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
      private_constant :HeapObjects
    end
  end
end
