# frozen_string_literal: true

require "skep/plugin"
require "skep/threads"

# Describes a swarm: one supervisor, and the processes that do the work.
#
#   swarm = Skep.swarm("billing", nodes: 4, stop_timeout: 20) do |swarm|
#     swarm.preload { require "app" }            # once in the mold, before the warmup
#     swarm.on_boot { |node| Database.connect } # in each node, before it is ready
#     swarm.work { |node| node.ready!; until node.stopping? … node.beat … end }
#   end
#   exit swarm.run                               # not needed with `skep run FILE`
#
# This object only holds the description. `Supervisor`, `NodePool` and `MoldPool` manage the
# processes. `MoldMain`, `NodeMain` and `Node` run inside them.
module Skep
  class Swarm
    HOOKS = %i[preload warm on_boot on_exit around_handler on_error].freeze
    NOTHING = Object.new.freeze
    private_constant :HOOKS, :NOTHING

    # The swarm's name in status, logs and commands.
    attr_reader :name
    attr_reader :options # as given; Definition::Config checks them
    attr_reader :tasks # the works
    attr_reader :listeners # blocks by event name

    def initialize(name, **options)
      @name = name.to_s
      @logger = options.delete(:logger)
      unless @logger.nil? || @logger.respond_to?(:add)
        Definition::InvalidDescription.refuse("logger must be a Logger (got #{@logger.class})")
      end

      @options = options
      @tasks = []
      @listeners = Hash.new { |all, event| all[event] = [] }
      @hooks = HOOKS.to_h { |hook| [hook, []] }
      yield self if block_given?
    end

    # Runs once in the mold, before the warmup. Load the application here.
    def preload(&block) = hook(:preload, block)

    # Runs in the mold after all preload blocks. Fill caches and compile templates here.
    def warm(&block) = hook(:warm, block)

    # Runs in each node before its work. Open connections and start threads here: they don't
    # survive a fork.
    def on_boot(&block) = hook(:on_boot, block)

    # Runs in each node after its work.
    def on_exit(&block) = hook(:on_exit, block)

    # Runs in the node around each batch or job of a source, on the handler's thread. The block gets
    # the batch, the node and the handler, and must call `handler.call`. Several blocks nest, the
    # first one outermost. An exception in a block counts as one of the handler.
    def around_handler(&block) = hook(:around_handler, block)

    # Runs in the node for each failed attempt of a handler, on the handler's thread, and for an
    # exception of on_boot, of plain work or of on_exit. The block gets the exception and a Hash:
    # swarm, work, node, mold and pid; from a source also what failed. A block that raises is
    # reported as `hook_failed`, and changes nothing else.
    def on_error(&block) = hook(:on_error, block)

    # Runs in the helper process for each event of that name, with its facts
    # (docs/reference/events.md).
    def on(event, &block)
      Definition::InvalidDescription.refuse("on takes a block") unless block

      @listeners[event.to_s] << block
    end

    # Adds a work: a plain block, or a source and its handler.
    #
    #   swarm.work("web", nodes: 1, stop_timeout: 60) { |node| … }
    #   swarm.work("orders", source) { |batch, node| … }
    #
    # The name may be left out; `skep check` shows what the work is called then. Of the options
    # (Definition::Work::OPTIONS) those that it isn't given are the swarm's. Raises
    # Definition::InvalidDescription for what is no source, and for a wrong name or option.
    def work(first = NOTHING, second = NOTHING, **options, &handler)
      given = [first, second].reject { |one| one.equal?(NOTHING) }
      case given.first
      when String, Symbol then name = Definition::Work.name(given.shift)
      end
      WorkSpec.refuse_twice(name) if name && tasks.any? { |task| task.name == name }
      source = WorkSpec.only_source(given) unless given.empty?
      WorkSpec.check_block(name, handler) if name && source.nil?
      @tasks << WorkSpec.new(source, handler, name:, options: Definition::Work.read(options))
    end

    # Runs the supervisor of this swarm in this process and returns the exit code. Under `skep run`
    # the supervisor is another process, so this call only ends the loading of the file.
    def run
      throw Definition::Loader::LOADED if Definition::Loader.loading?

      supervisor = Supervisor.new(Molds::MoldLauncher::Fork.new(self), observers: Swarm.observers)
      code = supervisor.run
      supervisor.failures.each { |sentence| warn("skep: #{sentence}") }
      code
    end

    def __logger = @logger # has Logger's interface: gets each event in the helper; nil: none
    def __hooks(name) = @hooks.fetch(name)

    # Loads the application, before the fork. Yields the names of the hooks, if there is a block
    # that calls them.
    def __preload
      %i[preload warm].each do |name|
        block_given? ? yield(name) : __hooks(name).each(&:call)
        Processes::RailsHook.load if name == :preload
      end
    end

    # Returns what the works lack. After __preload that may be more than before.
    def __warnings = IPC::PlainData.of(tasks.flat_map(&:warnings).uniq)

    # Returns what the supervisor needs to know, as plain data.
    def __to_plain
      IPC::PlainData.of("name" => name, "options" => options,
               "tasks" => plain_tasks, "events" => listeners.keys)
    end

    # Puts its works into the order of those of the running swarm, by which nodes know them. Returns
    # false if one is missing. works: as of Definition::Work#to_plain.
    def __arrange(works)
      order = Definition::WorkNames.order(works, plain_tasks)
      @tasks = tasks.values_at(*order) if order
      !order.nil?
    end

    def inspect = "#<Skep::Swarm #{name} tasks=#{tasks.size}>"

    # Factories of Supervisor::Observer. Log, status and metrics add theirs when they are loaded.
    @observer_factories = []

    class << self
      # Registers an observer. The block is called once for each supervisor.
      def watch_with(&factory) = @observer_factories << factory

      # Returns new observers for a supervisor.
      def observers = @observer_factories.map(&:call)

      # Registers the metrics server of the helper. `prepare(config)` is called in the mold, and
      # `start(socket, query)` in the helper. `start` returns an object whose `close` is called at
      # exit.
      def serve_with(service) = @service = service
      attr_reader :service # see serve_with

      # Registers a receiver of all events in the helper. `wanted?` is called in the mold once the
      # application is loaded, `report(name, facts)` in the helper for each event, and `log(logger,
      # name, level, facts)` too if the swarm has a `logger:`.
      def pass_on_with(bridge) = @bridge = bridge
      attr_reader :bridge # see pass_on_with
    end

    private

    def plain_tasks
      names = Definition::WorkNames.complete(tasks.map(&:name), tasks.map(&:proposed_name))
      tasks.zip(names).map { |task, name| { "name" => name, **task.to_plain } }
    end

    def hook(name, block)
      Definition::InvalidDescription.refuse("#{name} takes a block") unless block

      @hooks[name] << block
    end

    # One work: a source with a handler, or a plain block.
    #
    #   swarm.work { |node| … }                              # a block runs as it is
    #   swarm.work(source, nodes: 2) { |batch, node| … }     # a source feeds the handler
    #
    # A source responds to `errors`, `facts`, `threads` and `run(node, handler)`. If it responds to
    # `handler`, too, no block is needed; if to `warnings`, they are logged at boot; `work_name` is
    # what its work is called if the swarm file gives it no name (docs/reference/node.md).
    class WorkSpec
      TWICE = "the source has handlers of its own: give it to `swarm.work(source)` without a block"
      SOURCE = %i[errors facts threads run].freeze
      private_constant :TWICE, :SOURCE

      # Returns the source that the user gives, if it is one.
      def self.source(given)
        return given if SOURCE.all? { |method| given.respond_to?(method) }

        got = given.is_a?(Class) ? "the class #{given}" : IPC::PlainData.shown(given)
        hint = case given
               when nil then "leave it out for a plain block"
               when Class then "make one of it, #{given}.new(…)"
               else Plugin.advice(:source) || "it must respond to #{SOURCE.join(", ")}"
        end
        Definition::InvalidDescription.refuse(
          "swarm.work takes a source of work, or only a block, but it was given #{got}: #{hint}"
        )
      end

      # Returns the source, if nothing else is given.
      def self.only_source(given)
        return source(given.first) if given.size == 1

        Definition::InvalidDescription.refuse(
          "swarm.work takes a name and a source, in this order, and options by their names"
        )
      end

      # Two works can't be told apart by that name.
      def self.refuse_twice(name)
        Definition::InvalidDescription.refuse(
          "two works are called #{name}: give each a name of its own"
        )
      end

      # A name alone isn't a topic or a queue.
      def self.check_block(name, block)
        why = if block.nil? then "does nothing"
              elsif block.arity > 1 then "has a block for what a source gives it, and no source"
        end
        why and Definition::InvalidDescription.refuse(
          "work #{name} #{why}: give it one, `swarm.work(#{name.inspect}, source) { |…| … }`, " \
          "or a block for the node alone, `{ |node| … }`"
        )
      end

      attr_reader :name # nil: the file gives it none
      attr_reader :options # its own
      attr_reader :source # nil for a plain block
      attr_reader :handler # the block

      def initialize(source, handler, name: nil, options: {})
        @source = source
        @name = name
        @options = options
        own = source.handler if source.respond_to?(:handler)
        @handler = handler || own
        @twice = handler && own
      end

      # Returns the number of worker threads of a node that does this work.
      def threads = @source ? @source.threads : 1

      # Returns the size of IPC::ProgressPages for a node that does this work; nil: it has none.
      def progress_cells = @source.respond_to?(:__progress_cells) ? @source.__progress_cells : nil

      # Returns what it is to be called if the file gives it no name.
      def proposed_name
        own = @source.work_name if @source.respond_to?(:work_name)
        own || facts.transform_keys(&:to_s)["group"] || "work"
      end

      # Returns what the supervisor needs to know of this work, as plain data without secrets.
      def to_plain
        { "named" => !name.nil?, "options" => options, "threads" => threads,
          "progress" => progress_cells, "errors" => errors, "warnings" => warnings,
          "facts" => facts }
      end

      # Returns what it lacks, in sentences.
      def warnings = @source.respond_to?(:warnings) ? @source.warnings : []

      # Runs the work in a node until it returns. around: blocks of Swarm#around_handler.
      def run(node, around: [])
        return run_block(node) unless @source

        handler = Processes::AroundHandler.wrap(@handler, around)
        Processes::RailsHook.run(@source, node, handler)
      end

      private

      def facts = @source ? @source.facts : { "kind" => "block" }

      def run_block(node)
        node.__imply_ready
        @handler.call(node)
      end

      def errors
        unless @handler
          return ["a work without a block does nothing: give it one, `swarm.work(…) { |…| … }`"]
        end
        return [TWICE] if @twice

        @source ? @source.errors : []
      end
    end

    # Raised by node.producer outside the handler of a source that lends one.
    class NoProducer < Skep::Error
      def initialize
        super(["node.producer is lent by a source to its handler, on the node that the handler " \
               "is given. Elsewhere make your own, after the fork",
               *Plugin.advice(:producer)].join(": "))
      end
    end
  end

  # Describes a swarm, see Skep::Swarm. Nothing runs before `run`, or before `skep run` has loaded
  # the file.
  def self.swarm(name, **options, &block)
    Swarm.new(name, **options, &block).tap { |swarm| Swarm::Definition::Loader.found(swarm) }
  end
end

require "skep/swarm/runtime"
require "skep/swarm/stats"
require "skep/swarm/diagnosis"
require "skep/swarm/ipc"
require "skep/swarm/definition"
require "skep/swarm/health"
require "skep/swarm/memory"
require "skep/swarm/profiling"
require "skep/swarm/processes"
require "skep/swarm/node"
require "skep/swarm/nodes"
require "skep/swarm/molds"
require "skep/swarm/rollout"
require "skep/swarm/supervisor"
