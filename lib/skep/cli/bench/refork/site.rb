# frozen_string_literal: true

# The application, kept by one of those compared: visited, and weighed.
#
#   site = Site.new("Puma, preloaded", keeper, { workers: 4, models: 40, options: {} })
#   site.kept do
#     site.await(deadline)                 # until its workers work
#     site.visited(visitors, pages)
#     site.mark("after 60 s")              # a look to tell of later
#     site.figures                         # => {"MiB" => 350.0, "a worker's USS" => 60.1, …}
#   end
#
# One that fails is closed: the others go on, and `figures` raises why.
module Skep
  module CLI
    class Bench
      class Refork
        class Site
          NEEDED = %w[railties activerecord actionview sqlite3].freeze
          MEBIBYTE = (1 << 20).to_f
          private_constant :NEEDED, :MEBIBYTE

          attr_reader :name #: String
          attr_reader :version #: String?
          attr_reader :why_not #: String?, why it can't be had

          #: (String, Keeper, Hash[Symbol, untyped]) -> void
          def initialize(name, keeper, wishes)
            @name, @keeper, @wishes = name, keeper, wishes
            row = keeper.contender(name) { nil }
            @version = row.version
            @why_not = row.skipped || NEEDED.find { |gem| Peer.find(gem).nil? }&.then do |gem|
              Peer.missing(gem)
            end
            @marks = {}
            @served = 0
          end

          def kept #: () { () -> untyped } -> untyped
            Keeping.of(@keeper, **@wishes) do |kept|
              @kept = kept
              yield
            ensure
              @kept = nil
            end
          end

          def open? = !@kept.nil? && @failure.nil? #: () -> bool

          def await(deadline) #: (Float) -> void
            attempt { @kept.await(@wishes[:workers], seconds: deadline - OS.now) }
          end

          def visited(visitors, pages) #: (Visitors, Array[String]) -> void
            attempt { @served += served(visitors, pages) }
          end

          def rest(seconds) = attempt { @kept.settle(seconds) } #: (Float) -> void
          def mark(label) = attempt { @marks[label] = total(weigh) } #: (String) -> void

          def figures #: () -> Hash[String, Float]
            raise @failure if @failure

            @kept.settle(0) # hears of new workers
            memory = weigh
            { "MiB" => total(memory), "a worker's USS" => worker(memory), **@marks,
              "pages served" => @served.to_f }
          end

          private

          def attempt
            yield
          rescue Program::Failed => e # told by `figures`
            @failure = e
          end

          def served(visitors, pages)
            visitors.visit("#{@kept.folder}/socket", pages)
          rescue Program::Failed => e
            raise Program::Failed, "#{e.message} (#{@kept.said})"
          end

          def weigh
            pids = [@kept.pid, *@kept.below]
            pids.to_h { |pid| [pid, OS::Memory.of(pid)] }.compact
          end

          def total(memory) = memory.values.sum(&:pss) / MEBIBYTE

          # The mean of those that nobody is forked from.
          def worker(memory)
            workers = memory.slice(*@kept.workers).select { |pid, _| Kin.children(pid).empty? }
            workers.values.sum(&:uss) / MEBIBYTE / [workers.size, 1].max
          end
        end
      end
    end
  end
end
