# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Converts items, results and exceptions to bytes and back. It may use Marshal because both
      # ends are forks of one program, and no other process has their socket. (Message defines how
      # it is marshalled; skep's other processes exchange JSON.)
      #
      #   Serializer.dump_results([1, 2], from: 40)
      #   Serializer.load(bytes)
      #   Serializer.load_error(Serializer.dump_error(error))   # => the same, or a RemoteError
      module Serializer
        ITEMS = "Give an Array of them, which nodes have by their fork, or what they are made from"
        RESULTS = "Return plain data, or use Skep.each where no results are needed"
        # What Marshal raises, also for data that is nested too deeply, and what the objects' own
        # methods raise.
        FAILURES = [StandardError, ScriptError, SystemStackError].freeze
        private_constant :ITEMS, :RESULTS

        class << self
          def dump_items(chunk) = dump_each(chunk.items, chunk.from, "item", ITEMS)

          # Raises Unmarshallable with the index of the item.
          def dump_results(results, from:) = dump_each(results, from, "the result of item", RESULTS)

          def load_results(bytes, chunk)
            load(bytes)
          rescue *FAILURES => e # a class that only the worker knows, or that refuses to load
            what = "a result of the items from #{chunk.from} to #{chunk.from + chunk.size - 1}"
            raise Unmarshallable.new(what:, index: chunk.from, because: e.message, instead: RESULTS)
          end

          # The report of a chunk that ended early: the results so far, dumped; the exception,
          # dumped, or the value of Stop; and the index of the item that ended it.
          def dump_end(results, value, index) = Marshal.dump([results, value, index])

          def load(bytes)
            Marshal.load(bytes) # rubocop:disable Security/MarshalLoad -- written by our own fork
          end

          # Returns plain data for an exception and its causes.
          def dump_error(error)
            chain = [error]
            while (cause = chain.last.cause) && !chain.include?(cause)
              chain << cause
            end
            chain.map { |link| describe(link) }
          end

          # Returns the exception with its causes; a RemoteError for each that can't be loaded.
          def load_error(chain)
            chain.map { |link| restore(*link) }.reverse.reduce do |cause, error|
              error.cause ? error : with_cause(error, cause)
            end
          end

          private

          def dump_each(objects, from, what, instead)
            Marshal.dump(objects)
          rescue *FAILURES => e # including those of the objects' own methods
            place = objects.index { |object| !dumpable?(object) } or raise
            raise Unmarshallable.new(what: "#{what} #{from + place}, #{a(objects[place].class)},",
                                     index: from + place, because: e.message, instead:)
          end

          def a(name) = "#{name.to_s.match?(/\A[AEIO]/) ? "an" : "a"} #{name}"

          def dumpable?(object)
            !Marshal.dump(object).nil?
          rescue *FAILURES
            false # The first dump's error says why.
          end

          # Class name, message, backtrace, and the marshalled exception or why there is none.
          def describe(error)
            facts = [error.class.inspect, error.message, error.backtrace]
            [*facts, marshal(error), nil]
          rescue *FAILURES => e # including those of the exception's own methods
            [*(facts || [error.class.inspect, "(no message)", nil]), nil, e.message]
          end

          # Marshal includes the cause. If the cause can't be marshalled, marshals the exception
          # without it: the cause has an entry of its own.
          def marshal(error)
            Marshal.dump(error)
          rescue *FAILURES
            raise unless error.cause

            copy = error.class.allocate.exception(error.message)
            error.instance_variables.each do |name|
              copy.instance_variable_set(name, error.instance_variable_get(name))
            end
            Marshal.dump(copy)
          end

          def restore(error_class, message, backtrace, bytes, because)
            begin
              error = load(bytes) if bytes
            rescue *FAILURES => e # a class that only the worker knows, or that refuses to load
              because = e.message
            end
            error ||= RemoteError.new(error_class:, message:, because:)
            error.set_backtrace(backtrace) if backtrace && !error.frozen?
            error
          end

          # Ruby sets a cause only when it raises.
          def with_cause(error, cause)
            raise error, cause: cause
          rescue Exception => e # rubocop:disable Lint/RescueException -- the one just raised
            e
          end
        end
      end
      private_constant :Serializer
    end
  end
end
