# frozen_string_literal: true

module Skep
  module Kafka
    module Testing
      # A swarm file in a test.
      #
      #   app = Testing.load("swarm.rb")
      #   app.boot                      # runs its preload and on_boot blocks, as a node's boot does
      #   app.works                     # => [Work], the works that read from Kafka
      #   app.work("orders")            # => the work that reads this topic, or as this group
      #   app.work("orders").run([…])   # => TestResult
      class SwarmFile
        # A source and its handler, with the swarm's around_handler and on_error blocks.
        #
        #   work.source     # => Source
        #   work.handler    # => the block that swarm.work was given
        #   work.on_error   # => [Proc]
        Work = Struct.new(:source, :handler, :on_error) do
          # See Testing.run.
          def run(messages, node: Testing.node(on_error:), **how)
            Testing.run(source, messages, node:, **how, &handler)
          end

          # Calls the handler once with the batch and returns its result.
          def call(batch, node = Testing.node)
            Swarm::Processes::RailsHook.wrap(handler, node).call(batch, node)
          end

          def topics = source.facts[:topics] # which it reads
          def group = source.facts[:group] # the consumer group

          def inspect = "#<Skep::Kafka::Testing::Work #{topics.join(",")} group=#{group}>"
        end

        attr_reader :swarm # the definition in the file
        attr_reader :works # each with `call` and `run`

        def initialize(path)
          @path = path
          @swarm = Swarm::Definition::Loader.new(path).swarm
          tasks = @swarm.tasks.select { |task| task.source.is_a?(Source) }
          around, on_error = %i[around_handler on_error].map { |name| @swarm.__hooks(name) }
          @works = tasks.map do |task|
            handler = Swarm::Processes::AroundHandler.wrap(task.handler, around)
            Work.new(task.source, handler, on_error)
          end
        end

        # Runs what a mold and then a node run before the work.
        def boot(node = Testing.node)
          @swarm.__preload
          @swarm.__hooks(:on_boot).each { |hook| hook.call(node) }
          node
        end

        # Without a name the only work. Raises ArgumentError if there is none or more than one.
        def work(name = nil)
          found = works.select { |one| name.nil? || one.topics.include?(name) || one.group == name }
          return found.first if found.one?

          raise ArgumentError, "#{@path} must have one work that reads #{name || "from Kafka"} " \
                               "(got #{found.size}, of #{works.inspect})"
        end

        def inspect = "#<Skep::Kafka::Testing::SwarmFile #{@path} works=#{works.size}>"
      end
    end
  end
end
