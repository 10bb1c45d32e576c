# frozen_string_literal: true

# Sources of Ruby programs that fork for some milliseconds, ten times at least, and print the median
# of the microseconds that took.
#
#   Forks.source(milliseconds: 300, objects: 1_000_000, setup: 'require "skep/fork"; Skep.warmup')
#   Forks.source(milliseconds: 300, act: 'spawn("true")')
#   Forks.callbacks(milliseconds: 600, count: 100, moments: [:child])  # what so many add
#   Forks.hooks(calls: 10_000)                   # what a method prepended to Process._fork adds
module Skep
  module CLI
    class Bench
      class Fork < Contest
        module Forks
          CLOCK = <<~RUBY
            def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_microsecond)
            def median(figures) = figures.sort[figures.size / 2]
            def repeat(milliseconds, figures = [])
              by = now + milliseconds * 1000
              figures << yield while figures.size < 10 || now < by
              median(figures)
            end
          RUBY
          HOOKS = 10
          private_constant :CLOCK, :HOOKS

          class << self
            # Each turn starts a process by `act` and waits for its end.
            #: (milliseconds: Integer, ?objects: Integer, ?setup: String, ?act: String) -> String
            def source(milliseconds:, objects: 0, setup: "", act: "fork { exit!(true) }")
              <<~RUBY
                #{CLOCK}
                KEPT = Array.new(#{objects}) { Object.new }
                #{setup}
                def turn
                  began = now
                  Process.wait(#{act})
                  now - began
                end
                3.times { turn }
                puts repeat(#{milliseconds}) { turn }
              RUBY
            end

            # Batches of turns with and without callbacks alternate in one process: their difference
            # is far smaller than that between two processes. The first turns of a batch don't
            # count: they pay for what registering left behind.
            #: (milliseconds: Integer, count: Integer, moments: Array[Symbol]) -> String
            def callbacks(milliseconds:, count:, moments:)
              <<~RUBY
                #{CLOCK}
                require "skep/fork"
                MOMENTS = #{moments.inspect}.to_h { |moment| [moment, -> {}] }
                def turn
                  began = now
                  Process.wait(fork { exit!(true) })
                  now - began
                end
                def batch(count)
                  registrations = Array.new(count) { Skep.on_fork(**MOMENTS) }
                  median(Array.new(15) { turn }.drop(3))
                ensure
                  registrations.each(&:cancel)
                end
                puts repeat(#{milliseconds}) { batch(#{count}) - batch(0) }
              RUBY
            end

            # The calls alone: the innermost doesn't fork.
            #: (calls: Integer) -> String
            def hooks(calls:)
              <<~RUBY
                #{CLOCK}
                def batch
                  began = now
                  #{calls}.times { Process._fork }
                  now - began
                end
                def add(&body)
                  Process.singleton_class.prepend(Module.new { class_eval(&body) })
                end
                add { def _fork = 1 }
                before = median(Array.new(5) { batch })
                #{HOOKS}.times { add { def _fork = super } }
                puts (median(Array.new(5) { batch }) - before) / #{calls * HOOKS}.0
              RUBY
            end
          end
        end
        private_constant :Forks
      end
    end
  end
end
