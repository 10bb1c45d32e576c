# frozen_string_literal: true

# What a thread works on, by which a profile tells its samples apart.
#
#   number = Label.number("topic" => "orders", "handler" => "swarm.rb:12")   # once for each
#   Label.with(number) { handler.call(batch, node) }
#   Label.of(thread)          # => the number; 0: nothing in particular
#   Label.facts(number)       # => { "topic" => "orders", … }
#
# The sampler reads a number that belongs to the thread, so a label costs less than a microsecond.
# There are no more than MOST labels in a process; those beyond have none.
module Skep
  class Swarm
    module Profiling
      module Label
        MOST = 1_000
        VARIABLE = :skep_profile_label
        private_constant :MOST, :VARIABLE

        @all = [{}.freeze]
        @lock = Mutex.new

        class << self
          # facts: Strings by their names.
          def number(facts)
            @lock.synchronize do
              @all.index(facts) || (@all.size < MOST ? @all.push(facts.dup.freeze).size - 1 : 0)
            end
          end

          def facts(number) = @all[number] || @all.first
          def of(thread) = thread.thread_variable_get(VARIABLE) || 0

          def with(number)
            before = of(Thread.current)
            self.current = number
            yield
          ensure
            self.current = before
          end

          private

          def current=(number)
            Thread.current.thread_variable_set(VARIABLE, number)
            OS::StackSampler.label = number
          end
        end
      end
    end
  end
end
