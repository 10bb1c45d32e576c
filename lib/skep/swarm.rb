# frozen_string_literal: true

require "skep/threads"

# The swarm room: many processes, one keeper.
# A swarm is described by a block and run by a supervisor.
#
#   swarm = Skep.swarm("billing", nodes: 4, stop_timeout: 20) do |swarm|
#     swarm.preload { require "app" }            # once, in the mold, before the warmup
#     swarm.on_boot { |child| Database.connect } # in each child, before it is ready
#     swarm.work { |child| child.ready!; until child.stopping? … child.beat … end }
#   end
#   exit swarm.run                               # or leave this line out and `skep run FILE`
#
# The object only remembers what it was told; `Supervisor`, `Manager`, `Mold` and `Node` keep the
# processes, `Caster`, `Life` and `Child` are the same seen from inside them.
module Skep
  class Swarm
    HOOKS = %i[preload warm on_boot on_exit].freeze
    private_constant :HOOKS

    attr_reader :name #: String, what it is called
    attr_reader :options #: Hash[Symbol, untyped], as they were given, unchecked
    attr_reader :tasks #: Array[Task], the kinds of work it was given
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
      @tasks << Task.new(source, nodes, handler)
    end

    # Becomes the supervisor of this swarm, blocks until it has ended and returns the exit code.
    # Under `skep run` the file's own `run` is where its loading ends:
    # the supervisor is elsewhere already.
    def run #: () -> Integer
      throw Loader::LOADED if Loader.loading?

      supervisor = Supervisor.new(Origin::Program.new(self), observers: Swarm.observers)
      code = supervisor.run
      supervisor.failures.each { |sentence| warn("skep: #{sentence}") }
      code
    end

    def __hooks(name) = @hooks.fetch(name) #: (Symbol) -> Array[Proc]

    # All a supervisor must know, as plain data.
    def __to_plain #: () -> Hash[String, untyped]
      Plain.of("name" => name, "options" => options,
               "tasks" => tasks.map(&:to_plain), "events" => listeners.keys)
    end

    def inspect = "#<Skep::Swarm #{name} tasks=#{tasks.size}>" #: () -> String

    # Who watches a swarm: the rooms above put their makers in here when they are loaded.
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
  end

  # Describes a swarm; see Skep::Swarm.
  # Nothing runs until `run`, or until `skep run` has loaded the file.
  def self.swarm(name, **options, &block) #: (String, **untyped) { (Swarm) -> void } -> Swarm
    Swarm.new(name, **options, &block).tap { |swarm| Swarm::Loader.found(swarm) }
  end
end

require "skep/swarm/plain"
require "skep/swarm/secrets"
require "skep/swarm/kept"
require "skep/swarm/option"
require "skep/swarm/run_directory"
require "skep/swarm/config"
require "skep/swarm/task"
require "skep/swarm/loader"
require "skep/swarm/channel"
require "skep/swarm/durations"
require "skep/swarm/messages"
require "skep/swarm/link"
require "skep/swarm/signals"
require "skep/swarm/ancestry"
require "skep/swarm/remains"
require "skep/swarm/guardian"
require "skep/swarm/cells"
require "skep/swarm/totals"
require "skep/swarm/restart_policy"
require "skep/swarm/liveness"
require "skep/swarm/memory_limit"
require "skep/swarm/memory_budget"
require "skep/swarm/max_lifetime"
require "skep/swarm/growth"
require "skep/swarm/leak"
require "skep/swarm/footprint"
require "skep/swarm/weighing"
require "skep/swarm/health"
require "skep/swarm/absence"
require "skep/swarm/pulse"
require "skep/swarm/vigil"
require "skep/swarm/suspects"
require "skep/swarm/caution"
require "skep/swarm/no_producer"
require "skep/swarm/lane"
require "skep/swarm/child"
require "skep/swarm/backtraces"
require "skep/swarm/insistence"
require "skep/swarm/control"
require "skep/swarm/identity"
require "skep/swarm/line"
require "skep/swarm/listener"
require "skep/swarm/tenure"
require "skep/swarm/standby"
require "skep/swarm/mischief"
require "skep/swarm/life"
require "skep/swarm/inline"
require "skep/swarm/sockets"
require "skep/swarm/blank"
require "skep/swarm/offspring"
require "skep/swarm/caster"
require "skep/swarm/exit"
require "skep/swarm/deaths"
require "skep/swarm/causes"
require "skep/swarm/recoveries"
require "skep/swarm/claim"
require "skep/swarm/seat"
require "skep/swarm/node"
require "skep/swarm/roster"
require "skep/swarm/notice"
require "skep/swarm/replacements"
require "skep/swarm/helper"
require "skep/swarm/reserve"
require "skep/swarm/adoption"
require "skep/swarm/mold"
require "skep/swarm/last_heap"
require "skep/swarm/origin"
require "skep/swarm/lease"
require "skep/swarm/strangers"
require "skep/swarm/observer"
require "skep/swarm/observers"
require "skep/swarm/tally"
require "skep/swarm/complaints"
require "skep/swarm/signs"
require "skep/swarm/oom_kills"
require "skep/swarm/suspicions"
require "skep/swarm/watchman"
require "skep/swarm/inquest"
require "skep/swarm/hearing"
require "skep/swarm/boot_queue"
require "skep/swarm/succession"
require "skep/swarm/spares"
require "skep/swarm/endings"
require "skep/swarm/registrar"
require "skep/swarm/memory_pressure"
require "skep/swarm/surroundings"
require "skep/swarm/scales"
require "skep/swarm/renewals"
require "skep/swarm/budgeting"
require "skep/swarm/upkeep"
require "skep/swarm/manager"
require "skep/swarm/rolling"
require "skep/swarm/trial"
require "skep/swarm/reload"
require "skep/swarm/canary"
require "skep/swarm/refork"
require "skep/swarm/scaling"
require "skep/swarm/handover"
require "skep/swarm/resumption"
require "skep/swarm/obstacles"
require "skep/swarm/upgrade"
require "skep/swarm/changes"
require "skep/swarm/roll_call"
require "skep/swarm/first_boot"
require "skep/swarm/reports"
require "skep/swarm/recasting"
require "skep/swarm/foundry"
require "skep/swarm/orders"
require "skep/swarm/course"
require "skep/swarm/office"
require "skep/swarm/premises"
require "skep/swarm/household"
require "skep/swarm/snapshot"
require "skep/swarm/upgradable"
require "skep/swarm/supervisor"
