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
        # A source and its handler.
        #
        #   work.source     # => Source
        #   work.handler    # => Proc, the block that swarm.work was given
        Work = Struct.new(:source, :handler) do
          # See Testing.run.
          def run(messages, **how) = Testing.run(source, messages, **how, &handler)

          # Calls the handler once with the batch and returns its result.
          #: (Batch, ?FakeChild) -> untyped
          def call(batch, child = Testing.child) = handler.call(batch, child)

          def topics = source.facts[:topics] #: () -> Array[String], which it reads
          def group = source.facts[:group] #: () -> String, the consumer group

          def inspect = "#<Skep::Kafka::Testing::Work #{topics.join(",")} group=#{group}>"
        end

        attr_reader :swarm #: Swarm, the definition in the file
        attr_reader :works #: Array[Work], each with `call` and `run`

        def initialize(path) #: (String) -> void
          @path = path
          @swarm = Swarm::Definition::Loader.new(path).swarm
          tasks = @swarm.tasks.select { |task| task.source.is_a?(Source) }
          @works = tasks.map { |task| Work.new(task.source, task.handler) }
        end

        # Runs what a mold and then a node run before the work.
        def boot(child = Testing.child) #: (?FakeChild) -> FakeChild
          %i[preload warm].each { |name| @swarm.__hooks(name).each(&:call) }
          @swarm.__hooks(:on_boot).each { |hook| hook.call(child) }
          child
        end

        # Without a name the only work. Raises ArgumentError if there is none or more than one.
        def work(name = nil) #: (?String?) -> Work
          found = works.select { |one| name.nil? || one.topics.include?(name) || one.group == name }
          return found.first if found.one?

          raise ArgumentError, "#{@path} has #{found.size} works that read " \
                               "#{name || "from Kafka"}, of #{works.inspect}"
        end

        def inspect = "#<Skep::Kafka::Testing::SwarmFile #{@path} works=#{works.size}>"
      end
    end
  end
end
