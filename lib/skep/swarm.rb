# frozen_string_literal: true

require "skep/threads"

# One supervisor and its nodes, described by a block.
#
#   swarm = Skep.swarm("billing", nodes: 4, stop_timeout: 20) do |swarm|
#     swarm.preload { require "app" }            # once, in the mold, before the warmup
#     swarm.on_boot { |child| Database.connect } # in each child, before it is ready
#     swarm.work { |child| child.ready!; until child.stopping? … child.beat … end }
#   end
#   exit swarm.run                               # or leave this line out and `skep run FILE`
#
# The object only remembers what it was told; `Supervisor`, `NodePool` and `MoldPool` keep the
# processes, `MoldMain`, `NodeMain` and `Child` are the same seen from inside them.
module Skep
  class Swarm
    HOOKS = %i[preload warm on_boot on_exit].freeze
    private_constant :HOOKS

    attr_reader :name #: String, what it is called
    attr_reader :options #: Hash[Symbol, untyped], as they were given, unchecked
    attr_reader :tasks #: Array[WorkSpec], the kinds of work it was given
    attr_reader :listeners #: Hash[String, Array[Proc]], by event

    def initialize(name, **options) #: (String, **untyped) { (Swarm) -> void } -> void
      @name = name.to_s
      @options = options
      @tasks = []
      @listeners = Hash.new { |all, event| all[event] = [] }
      @hooks = HOOKS.to_h { |hook| [hook, []] }
      yield self if block_given?
    end

    # Runs once in the mold, before the warmup: load the application here.
    def preload(&block) = hook(:preload, block) #: () { () -> void } -> void

    # Runs in the mold after every preload: fill caches, compile templates.
    def warm(&block) = hook(:warm, block) #: () { () -> void } -> void

    # Runs in each child before its work: open what can't cross a fork.
    def on_boot(&block) = hook(:on_boot, block) #: () { (Child) -> void } -> void

    # Runs in each child after its work.
    def on_exit(&block) = hook(:on_exit, block) #: () { (Child) -> void } -> void

    # Runs in the helper process at each such event (docs/events.md), with its facts.
    def on(event, &block) #: (Symbol) { (Hash[String, untyped]) -> void } -> void
      @listeners[event.to_s] << block
    end

    # Gives the swarm work: a plain block, or a source and a handler.
    # `nodes` is how many do this work.
    #: (?untyped, ?nodes: Integer?) { (*untyped) -> void } -> void
    def work(source = nil, nodes: nil, &handler)
      @tasks << WorkSpec.new(source, nodes, handler)
    end

    # Becomes the supervisor of this swarm, blocks until it has ended and returns the exit code.
    # Under `skep run` the file's own `run` is where its loading ends:
    # the supervisor is elsewhere already.
    def run #: () -> Integer
      throw Definition::Loader::LOADED if Definition::Loader.loading?

      supervisor = Supervisor.new(Molds::MoldLauncher::Fork.new(self), observers: Swarm.observers)
      code = supervisor.run
      supervisor.failures.each { |sentence| warn("skep: #{sentence}") }
      code
    end

    def __hooks(name) = @hooks.fetch(name) #: (Symbol) -> Array[Proc]

    # All a supervisor must know, as plain data.
    def __to_plain #: () -> Hash[String, untyped]
      IPC::PlainData.of("name" => name, "options" => options,
               "tasks" => tasks.map(&:to_plain), "events" => listeners.keys)
    end

    def inspect = "#<Skep::Swarm #{name} tasks=#{tasks.size}>" #: () -> String

    # Who watches a swarm: log, status, metrics and the like put their makers in here when loaded.
    @watchers = []

    class << self
      # The block makes one for each supervisor.
      def watch_with(&maker) = @watchers << maker #: () { () -> untyped } -> void
      def observers = @watchers.map(&:call) #: () -> Array[untyped], new ones, for a supervisor

      # What the helper serves with: `prepare(config)` is called in the mold, `start(socket, line)`
      # in the helper, and `close` of what that returns at its end.
      def serve_with(service) = @service = service #: (untyped) -> void
      attr_reader :service #: untyped, see serve_with

      # Whom the helper passes every event on to: `wanted?` is asked in the mold once the
      # application is loaded, `tell(name, facts)` is called in the helper.
      def pass_on_with(bridge) = @bridge = bridge #: (untyped) -> void
      attr_reader :bridge #: untyped, see pass_on_with

      # Who runs the sources of this process' nodes, so that an application's framework may stand
      # around their handlers: `call(source, child, handler)` ends in `source.run(child, …)`.
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
    # A source answers `errors`, `facts`, `threads` and `run(child, handler)`. A source with its own
    # handler answers `handler`, too, and needs no block (docs/work.md).
    class WorkSpec
      attr_reader :nodes #: Integer?, how many do this work; nil: as many as the swarm has
      attr_reader :source #: untyped, nil for a plain block
      attr_reader :handler #: Proc?, the block

      def initialize(source, nodes, handler) #: (untyped, Integer?, Proc?) -> void
        @source = source
        @nodes = nodes
        @handler = handler || (source.handler if source.respond_to?(:handler))
      end

      # Returns the number of worker threads of a node that does this work.
      def threads = @source ? @source.threads : 1 #: () -> Integer

      # Returns what the supervisor knows of this work: plain data, without secrets.
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

    # Raised by child.producer if no source has lent one.
    class NoProducer < Skep::Error
      def initialize #: () -> void
        super("child.producer is lent by a Kafka source to its handler, on the child that the " \
              "handler is given. Elsewhere make one of your own, after the fork: " \
              "Skep::Kafka::Producer.new({ \"bootstrap.servers\": \"…\" }, child:)")
      end
    end
  end

  # Describes a swarm; see Skep::Swarm.
  # Nothing runs until `run`, or until `skep run` has loaded the file.
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
