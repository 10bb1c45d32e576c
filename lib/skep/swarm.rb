# frozen_string_literal: true

require "skep/threads"

# Describes a swarm: one supervisor, and the processes that do the work.
#
#   swarm = Skep.swarm("billing", nodes: 4, stop_timeout: 20) do |swarm|
#     swarm.preload { require "app" }            # once in the mold, before the warmup
#     swarm.on_boot { |child| Database.connect } # in each node, before it is ready
#     swarm.work { |child| child.ready!; until child.stopping? … child.beat … end }
#   end
#   exit swarm.run                               # not needed with `skep run FILE`
#
# This object only holds the description. `Supervisor`, `NodePool` and `MoldPool` manage the
# processes. `MoldMain`, `NodeMain` and `Child` run inside them.
module Skep
  class Swarm
    HOOKS = %i[preload warm on_boot on_exit].freeze
    private_constant :HOOKS

    # The name that status, logs and commands know it by.
    attr_reader :name #: String
    attr_reader :options #: Hash[Symbol, untyped], as given; Definition::Config checks them
    attr_reader :tasks #: Array[WorkSpec], the kinds of work
    attr_reader :listeners #: Hash[String, Array[Proc]], blocks by event name

    def initialize(name, **options) #: (String, **untyped) { (Swarm) -> void } -> void
      @name = name.to_s
      @options = options
      @tasks = []
      @listeners = Hash.new { |all, event| all[event] = [] }
      @hooks = HOOKS.to_h { |hook| [hook, []] }
      yield self if block_given?
    end

    # Runs once in the mold, before the warmup. Load the application here.
    def preload(&block) = hook(:preload, block) #: () { () -> void } -> void

    # Runs in the mold after all preload blocks. Fill caches and compile templates here.
    def warm(&block) = hook(:warm, block) #: () { () -> void } -> void

    # Runs in each node before its work. Open connections and start threads here: they don't
    # survive a fork.
    def on_boot(&block) = hook(:on_boot, block) #: () { (Child) -> void } -> void

    # Runs in each node after its work.
    def on_exit(&block) = hook(:on_exit, block) #: () { (Child) -> void } -> void

    # Runs in the helper process for each event of that name, with its facts (docs/events.md).
    def on(event, &block) #: (Symbol) { (Hash[String, untyped]) -> void } -> void
      @listeners[event.to_s] << block
    end

    # Adds a kind of work: a plain block, or a source and its handler. nodes: the number of nodes
    # for it, by default that of the swarm.
    #: (?untyped, ?nodes: Integer?) { (*untyped) -> void } -> void
    def work(source = nil, nodes: nil, &handler)
      @tasks << WorkSpec.new(source, nodes, handler)
    end

    # Runs the supervisor of this swarm in this process and returns the exit code. Under `skep run`
    # the supervisor is another process, so this call only ends the loading of the file.
    def run #: () -> Integer
      throw Definition::Loader::LOADED if Definition::Loader.loading?

      supervisor = Supervisor.new(Molds::MoldLauncher::Fork.new(self), observers: Swarm.observers)
      code = supervisor.run
      supervisor.failures.each { |sentence| warn("skep: #{sentence}") }
      code
    end

    def __hooks(name) = @hooks.fetch(name) #: (Symbol) -> Array[Proc]

    # Returns what the supervisor needs to know, as plain data.
    def __to_plain #: () -> Hash[String, untyped]
      IPC::PlainData.of("name" => name, "options" => options,
               "tasks" => tasks.map(&:to_plain), "events" => listeners.keys)
    end

    def inspect = "#<Skep::Swarm #{name} tasks=#{tasks.size}>" #: () -> String

    # Factories of Supervisor::Observer. Log, status and metrics add theirs when they are loaded.
    @observer_factories = []

    class << self
      # Registers an observer. The block is called once for each supervisor.
      #: () { () -> untyped } -> void
      def watch_with(&factory) = @observer_factories << factory

      # Returns new observers for a supervisor.
      def observers = @observer_factories.map(&:call) #: () -> Array[untyped]

      # Registers the metrics server of the helper. `prepare(config)` is called in the mold, and
      # `start(socket, line)` in the helper. That returns an object whose `close` is called at exit.
      def serve_with(service) = @service = service #: (untyped) -> void
      attr_reader :service #: untyped, see serve_with

      # Registers a receiver of all events in the helper. `wanted?` is called in the mold once the
      # application is loaded, `tell(name, facts)` in the helper for each event.
      def pass_on_with(bridge) = @bridge = bridge #: (untyped) -> void
      attr_reader :bridge #: untyped, see pass_on_with

      # Registers a wrapper around the sources' `run`, with which a framework wraps their handlers.
      # `call(source, child, handler)` must call `source.run(child, handler)`.
      def run_with(runner) = @runner = runner #: (untyped) -> void
      attr_reader :runner #: untyped, see run_with
    end

    private

    def hook(name, block)
      raise ArgumentError, "#{name} takes a block" unless block

      @hooks[name] << block
    end

    # One kind of work: a source with a handler, or a plain block.
    #
    #   swarm.work { |child| … }                              # a block runs as it is
    #   swarm.work(source, nodes: 2) { |batch, child| … }     # a source feeds the handler
    #
    # A source responds to `errors`, `facts`, `threads` and `run(child, handler)`. If it responds to
    # `handler`, too, no block is needed (docs/work.md).
    class WorkSpec
      attr_reader :nodes #: Integer?, the number of nodes; nil: that of the swarm
      attr_reader :source #: untyped, nil for a plain block
      attr_reader :handler #: Proc?, the block

      def initialize(source, nodes, handler) #: (untyped, Integer?, Proc?) -> void
        @source = source
        @nodes = nodes
        @handler = handler || (source.handler if source.respond_to?(:handler))
      end

      # Returns the number of worker threads of a node that does this work.
      def threads = @source ? @source.threads : 1 #: () -> Integer

      # Returns what the supervisor needs to know of this work, as plain data without secrets.
      def to_plain #: () -> Hash[String, untyped]
        { "nodes" => nodes, "threads" => threads, "errors" => errors,
          "facts" => @source ? @source.facts : { "kind" => "block" } }
      end

      # Runs the work in a node until it returns.
      def run(child) #: (Child) -> void
        return @handler.call(child) unless @source

        runner = Swarm.runner || ->(source, *given) { source.run(*given) }
        runner.call(@source, child, @handler)
      end

      private

      def errors
        unless @handler
          return ["a work without a block does nothing: give it one, `swarm.work(…) { |…| … }`"]
        end

        @source ? @source.errors : []
      end
    end

    # Raised by child.producer outside the handler of a Kafka source.
    class NoProducer < Skep::Error
      def initialize #: () -> void
        super("child.producer is lent by a Kafka source to its handler, on the child that the " \
              "handler is given. Elsewhere make one of your own, after the fork: " \
              "Skep::Kafka::Producer.new({ \"bootstrap.servers\": \"…\" }, child:)")
      end
    end
  end

  # Describes a swarm, see Skep::Swarm. Nothing runs before `run`, or before `skep run` has loaded
  # the file.
  def self.swarm(name, **options, &block) #: (String, **untyped) { (Swarm) -> void } -> Swarm
    Swarm.new(name, **options, &block).tap { |swarm| Swarm::Definition::Loader.found(swarm) }
  end
end

require "skep/swarm/runtime"
require "skep/swarm/stats"
require "skep/swarm/ipc"
require "skep/swarm/definition"
require "skep/swarm/health"
require "skep/swarm/memory"
require "skep/swarm/processes"
require "skep/swarm/child"
require "skep/swarm/nodes"
require "skep/swarm/molds"
require "skep/swarm/rollout"
require "skep/swarm/supervisor"
