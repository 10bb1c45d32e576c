# frozen_string_literal: true

# Sources of Ruby programs that fork repeatedly for some milliseconds, at least ten times, and print
# the median time in microseconds.
#
#   Forks.source(milliseconds: 300, objects: 1_000_000, setup: 'require "skep/fork"; Skep.warmup')
#   Forks.source(milliseconds: 300, act: 'spawn("true")')
#   Forks.callbacks(milliseconds: 600, count: 100, moments: [:child])  # the cost of so many
#   Forks.hooks(calls: 10_000)                   # the cost of a method prepended to Process._fork
module Skep
  module Benchmarks
    class Fork < Benchmark
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
          # Each iteration starts a process by `act` and waits for its end.
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

          # Forks with and without callbacks in turn, in one process: their difference is far
          # smaller than the variation between processes or over time.
          def callbacks(milliseconds:, count:, moments:)
            <<~RUBY
              #{CLOCK}
              require "skep/fork"
              RUBYS = Process.method(:_fork).super_method
              def noted = RUBYS.call.tap { Skep::OS::Generation.__note } # as skep's hook does
              def turn(callbacks)
                began = now
                pid = callbacks.around_fork { noted }
                exit!(true) if pid.zero?
                Process.wait(pid)
                now - began
              end
              without, with = Array.new(2) { Skep::Fork::ForkHooks.new }
              moments = #{moments.inspect}.to_h { |moment| [moment, -> {}] }
              #{count}.times { with.register(**moments) }
              took = { with => [], without => [] }
              repeat(#{milliseconds}) do
                [with, without].shuffle.each { |callbacks| took[callbacks] << turn(callbacks) }
                0
              end
              puts median(took[with]) - median(took[without])
            RUBY
          end

          # The cost of so many calls in a child without skep, whose caches are cold.
          def calls(milliseconds:, count:)
            <<~RUBY
              #{CLOCK}
              def turn(blocks)
                began = now
                pid = Process._fork
                blocks.each(&:call) && exit!(true) if pid.zero?
                Process.wait(pid)
                now - began
              end
              some, none = Array.new(#{count}) { -> {} }, []
              took = { some => [], none => [] }
              repeat(#{milliseconds}) do
                [some, none].shuffle.each { |blocks| took[blocks] << turn(blocks) }
                0
              end
              puts median(took[some]) - median(took[none])
            RUBY
          end

          # Measures only the calls: the innermost doesn't fork.
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
