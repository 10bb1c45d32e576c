# frozen_string_literal: true

# The application on one of the compared servers: takes requests, and measures its memory.
#
#   rails_server = RailsServer.new("Puma, preloaded", server, { workers: 4, models: 40 })
#   rails_server.run do
#     rails_server.await(deadline)                 # until its workers work
#     rails_server.visited(load_generator, pages)
#     rails_server.mark("after 60 s")              # records a measurement for later
#     rails_server.figures                         # => {"MiB" => 350.0, …}
#   end
#
# A server that fails is closed. The others continue, and `figures` raises the reason.
module Skep
  module Benchmarks
    class Refork
      class RailsServer
        NEEDED = %w[railties activerecord actionview sqlite3].freeze
        MEBIBYTE = (1 << 20).to_f
        private_constant :NEEDED, :MEBIBYTE

        attr_reader :name
        attr_reader :version
        attr_reader :why_not
        attr_reader :wishes

        def initialize(name, server, wishes)
          @name, @server, @wishes = name, server, wishes
          row = server.subject(name) { nil }
          @version = row.version
          @why_not = row.skipped || NEEDED.find { |gem| Peer.find(gem).nil? }&.then do |gem|
            Peer.missing(gem)
          end
          @marks = {}
          @served = 0
        end

        def run
          ServerRun.of(@server, **@wishes) do |run|
            @run = run
            yield
          ensure
            @run = nil
          end
        end

        def ours? = @server.ours?
        def open? = !@run.nil? && @failure.nil?

        def await(deadline)
          attempt { @run.await(@wishes[:workers], seconds: deadline - OS.now) }
        end

        def visited(load_generator, pages)
          attempt { @served += served(load_generator, pages) }
        end

        def rest(seconds) = attempt { @run.settle(seconds) }
        def mark(label) = attempt { @marks[label] = total(weigh) }

        def figures
          raise @failure if @failure

          @run.settle(0) # takes the reports of new workers
          memory = weigh
          { "MiB" => total(memory), "a worker's USS" => worker(memory), **@marks,
            "pages served" => @served.to_f }
        end

        private

        def attempt
          yield
        rescue Program::Failed => e # `figures` raises it
          @failure = e
        end

        def served(load_generator, pages)
          load_generator.visit("#{@run.folder}/socket", pages)
        rescue Program::Failed => e
          raise Program::Failed, "#{e.message} (#{@run.last_error})"
        end

        def weigh
          pids = [@run.pid, *@run.below]
          pids.to_h { |pid| [pid, OS::Memory.of(pid)] }.compact
        end

        def total(memory) = memory.values.sum(&:pss) / MEBIBYTE

        # Returns the mean of the workers that aren't a mold.
        def worker(memory)
          workers = memory.slice(*@run.workers).select { |pid, _| ProcessTree.children(pid).empty? }
          workers.values.sum(&:uss) / MEBIBYTE / [workers.size, 1].max
        end
      end
    end
  end
end
