# frozen_string_literal: true

module Skep
  module Work
    class Map
      # The options of a map, validated.
      #
      # | option | |
      # |---|---|
      # | nodes (in_processes) | how many processes at most (default: processors); 0: no fork |
      # | threads | how many items a node processes at a time |
      # | in_threads | that many threads of this process instead of nodes |
      # | ordered | false: results in the order in which they arrive |
      # | progress | true, a title, or a Hash: a progress bar on stderr, if that is a terminal |
      # | with_index | the block also gets the item's index |
      # | preserve_results | false: returns the items, not the results |
      # | start, finish | called in this process with (item, index) and (item, index, result) |
      # | finish_in_order | finish is called in the items' order |
      class Options
        attr_reader :nodes
        attr_reader :threads
        attr_reader :in_threads
        attr_reader :progress
        attr_reader :start
        attr_reader :finish

        def initialize(nodes: nil, in_processes: nil, in_threads: nil, threads: 1, progress: nil,
                       start: nil, finish: nil, **flags)
          refuse_both(nodes || in_processes, in_threads)
          @in_threads = count(:in_threads, in_threads || 0, least: 0)
          nodes = in_threads ? 0 : nodes || in_processes || OS::Cgroup.processors
          @nodes = count(:nodes, nodes, least: 0)
          @threads = count(:threads, threads, least: 1)
          @progress = progress_option(progress)
          @start = start
          @finish = finish
          assign_flags(**flags)
          freeze
        end

        def forks? = @nodes.positive?

        def ordered? = @ordered

        def with_index? = @with_index

        def finish_in_order? = @finish_in_order

        # Returns true if the map returns the results.
        def keep_results? = @keep_results

        # Returns true if nodes must send results: the map returns them, or `finish` gets them.
        def need_results? = @keep_results || !finish.nil?

        private

        def assign_flags(ordered: true, with_index: false, preserve_results: true,
                         finish_in_order: false)
          @ordered = ordered ? true : false
          @with_index = with_index ? true : false
          @keep_results = preserve_results != false
          @finish_in_order = finish_in_order ? true : false
        end

        def refuse_both(nodes, in_threads)
          return unless nodes && in_threads

          raise ArgumentError, "in_threads runs no nodes. Give in_threads or nodes, not both."
        end

        def progress_option(value)
          case value
          when nil, true, false, String, Symbol, Hash then value
          else
            raise ArgumentError, "progress must be true, a title or a Hash with title: and " \
                                 "output: (got #{value.inspect}). Give a callable for each item " \
                                 "and its result to finish:."
          end
        end

        def count(name, value, least:)
          return value if value.is_a?(Integer) && value >= least

          raise ArgumentError, "#{name} must be a whole number from #{least} (got #{value.inspect})"
        end
      end
      private_constant :Options
    end
  end
end
