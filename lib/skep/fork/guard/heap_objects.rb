# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Ruby's live objects, by class.
      #
      #   objects.of("PG::Connection")   # [] unless that class is loaded
      #   objects.io(7)                  # the IO object of fd 7, or nil
      #   objects.place(object)          # "made at app.rb:12", if Ruby traces allocations
      #
      # A search for a class walks the heap, 15 ms for each million of slots. So the inspectors ask
      # the kernel first and search only for what can be there, once. After a second Ractor was
      # started Ruby shows only objects that Ractors share.
      class HeapObjects
        def initialize
          @found = {}
        end

        # Returns the live instances of a class, without loading it.
        def of(name)
          @found[name] ||= (type = constant(name)) ? ObjectSpace.each_object(type).to_a : []
        end

        # Returns the open IO that owns the fd; not one that borrows it from a C library
        # (`autoclose: false`).
        def io(fd)
          @ios ||= of("IO").each_with_object({}) do |io, ios|
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

        # Returns the constant of that name if it is loaded; triggers no autoload.
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
