# frozen_string_literal: true

# Where the gem skep-rails plugs in, which runs handlers and callbacks in Rails' executor.
#
#   RailsHook.load                           # => [], or a warning
#   RailsHook.run(source, node, handler)     # runs the source, its handler in the executor
#   RailsHook.wrap(callable, node).call(…)   # calls it in the executor
#
# A swarm file may load the application without skep/rails, at its top, in `preload` or in
# `on_boot`. So each of these loads skep/rails first, once there is a Rails application. Without one
# they leave sources and callables as they are.
module Skep
  class Swarm
    module Processes
      module RailsHook
        FEATURE = "skep/rails"
        private_constant :FEATURE

        class << self
          # Called by FEATURE when it is loaded, with an object that responds to `run` and `wrap`.
          attr_writer :rails

          # Returns why it can't be loaded, as a list.
          def load
            return [] if @rails || !application?

            error = OptionalGem.try_require(FEATURE)
            error ? [warning(error)] : []
          end

          def run(source, node, handler)
            rails = found
            rails ? rails.run(source, node, handler) : source.run(node, handler)
          end

          def wrap(callable, node)
            rails = found
            rails ? rails.wrap(callable, node) : callable
          end

          private

          def found
            load
            @rails if application?
          end

          # A program without an application may have loaded Rails' parts.
          def application? = defined?(::Rails.application) && ::Rails.application ? true : false

          def warning(error)
            "the Rails application is loaded, but not the gem skep-rails " \
              "(#{error.message.lines.first.chomp}): handlers run without Rails' executor, so " \
              "they keep their database connections, CurrentAttributes and the query cache: " \
              "add `gem \"skep-rails\"` to the Gemfile"
          end
        end
      end
    end
  end
end
