# frozen_string_literal: true

# The options of a swarm and the events of a run, drawn from a seed. Plain data that can be printed,
# reduced and run again.
#
#   schedule = Schedule.of(42)
#   schedule.options    # => { "nodes" => 2, … }
#   schedule.events     # => [[3.25, :die, 0, "SEGV"], …], by time
module Simulation
  # What happens to events that the supervisor relies on:
  #
  # | kind | what |
  # |---|---|
  # | errors | a callback of the supervisor raises after it has run |
  # | dropped | a callback raises before it has run: what it was for is lost |
  # | lost, late, doubled | a message of a mold or a node |
  #
  #   Losses.wanted   # => [:errors, …]; SIMULATION_LOSSES=lost,dropped chooses others
  module Losses
    # Not `dropped`: a timer that is lost is set by nobody again.
    USUAL = %w[errors lost late doubled].freeze

    def self.wanted = ENV.fetch("SIMULATION_LOSSES", USUAL.join(",")).split(",").map(&:to_sym)
  end

  Schedule = Struct.new(:seed, :options, :events, :seconds) do
    def without(index) = dup.tap { |less| less.events = events[0...index] + events[index + 1..] }
    def with_option(name, value) = dup.tap { |other| other.options = { **options, name => value } }

    def to_s
      lines = events.map do |time, *event|
        words = event.map { |one| one.is_a?(Symbol) ? one.to_s : one.inspect }
        format("  %8.3f s  %s", time, words.join(" "))
      end
      ["seed #{seed}, #{options.map { |name, value|
        "#{name} #{value.inspect}"
      }.join(", ")}", *lines].join("\n")
    end
  end

  class << Schedule
    SIGNALS = %w[SEGV KILL ABRT TERM].freeze
    # The weight of each event.
    NODE_EVENTS = {
      die: 6, exit: 4, hang: 4, stop_process: 2, close_channel: 2, leave_never: 1, garbage: 1,
      unhealthy: 2, healthy: 1, grow: 3, ignore_stop: 2, slow_stop: 2, unkillable: 2, warm: 3,
      item: 1, oom: 1, post: 2
    }.freeze
    WINDOWS = {
      boot_fault: 6, slow: 4, refuse_forks: 2, late_reports: 2, no_reports: 1, double_reports: 1,
      mold_fault: 2, no_descriptors: 1, no_buffers: 1, no_molds: 1, twice: 1, unfit: 1, new_file: 2
    }.freeze
    MOLD_EVENTS = { mold_die: 5, mold_exit: 1, mold_hang: 3, mold_garbage: 1,
                    mold_close_channel: 1, mold_stop_process: 1, mold_ignore_release: 2 }.freeze
    ORDERS = { hup: 3, usr2: 4, scale: 5, restart: 3, status: 1, quiet: 1, resume: 1, ttin: 1,
               usr1: 1, chld: 1 }.freeze
    ENDS = { term: 3, int: 1, force: 1, twice: 1 }.freeze
    KINDS = { node: 10, window: 5, mold: 3, order: 5, pause: 2 }.freeze
    # Faults that no event and no message survives for certain (Losses).
    LOSSES = { errors: 3, dropped: 3, lost: 1, late: 1, doubled: 1 }.freeze
    # What the supervisor's guard calls, and the weight of an error in it.
    LOSSES_SEED = 1 << 40
    STORM = 30
    CALLBACKS = { "timer" => 4, "descriptor" => 4, "message" => 4, "signal" => 1,
                  "observer" => 1 }.freeze
    private_constant :SIGNALS, :NODE_EVENTS, :WINDOWS, :MOLD_EVENTS, :ORDERS, :ENDS, :KINDS,
                     :LOSSES, :LOSSES_SEED, :STORM, :CALLBACKS

    # losses: which of LOSSES may occur. They don't change the other events of a seed.
    def of(seed, losses: Losses.wanted)
      random = Random.new(seed)
      options = options(random)
      seconds = 1 + (random.rand**2 * 25)
      events = []
      (1 + random.rand(9)).times do
        events << event(random, instant(random, seconds, events.last&.first))
      end
      last = events.last.first
      events << [instant(random, seconds, last), :end, draw(random, ENDS)] if chance(random, 3)
      events += losses(Random.new(seed + LOSSES_SEED), seconds, events, LOSSES.slice(*losses))
      new(seed, options, events.sort_by.with_index { |event, index| [event.first, index] }, seconds)
    end

    private

    # Returns up to three of the losses; each right before another event, or at any time.
    def losses(random, seconds, events, weights)
      return [] if weights.empty?

      Array.new(random.rand(4)) do
        near = events.sample(random:).first
        time = chance(random, 2) ? instant(random, seconds, near) : instant(random, seconds)
        kind = draw(random, weights)
        detail = %i[errors dropped].include?(kind) ? error(random) : %i[mold node].sample(random:)
        [time, kind, (0.2 + (random.rand**2 * 4)).round(2), *detail]
      end
    end

    # Returns in what callback, and how many times.
    def error(random)
      [draw(random, CALLBACKS), chance(random, 30) ? STORM : 1 + random.rand(2)]
    end

    def draw(random, weights)
      at = random.rand(weights.each_value.sum)
      weights.each { |one, weight| (at -= weight).negative? and return one }
    end

    # Half of the events come within the first seconds, during the boot; a third right after
    # another.
    def instant(random, seconds, last = nil)
      return (last + (random.rand**2 * 0.6)).round(3) if last && chance(random, 3)

      (random.rand**1.5 * seconds).round(3)
    end

    def chance(random, parts) = random.rand(parts).zero?

    def options(random)
      { "nodes" => 1 + random.rand(4), "spares" => one_of(random, 0, 0, 0, 1, 2),
        "boot_timeout" => one_of(random, 1.0, 3.0), "boot_concurrency" => 1 + random.rand(3),
        "liveness_timeout" => one_of(random, 1.0, 2.0, 5.0),
        "stop_timeout" => one_of(random, 0.5, 2.0, 4.0), "kill_timeout" => one_of(random, 0.3, 1.0),
        "restart" => one_of(random, *%w[always always always always on_failure never]),
        "max_restarts" => random.rand(5), "restart_window" => one_of(random, 3.0, 10.0),
        "on_crash_loop" => one_of(random, *%w[backoff backoff backoff stop]),
        **rare(random) }
    end

    def one_of(random, *all) = all.sample(random:)

    def rare(random)
      { "never_restart_on" => (3 if chance(random, 12)),
        "memory_limit" => ("64M" if chance(random, 3)),
        "memory_budget" => ("120M" if chance(random, 6)),
        "max_lifetime" => (6.0 if chance(random, 6)), "refork_after" => (100 if chance(random, 3)),
        "helper" => (true if chance(random, 4)),
        "works" => (2 if chance(random, 6)) }.compact
    end

    def event(random, time)
      case draw(random, KINDS)
      when :node then [time, *node_event(random)]
      when :window then [time, *window(random)]
      when :mold then [time, *mold_event(random)]
      when :order then [time, *order(random)]
      when :pause then [time, :pause, (random.rand**2 * 12).round(3), random.rand(2).zero?]
      end
    end

    # Returns a slot's number, a spare's from 100 on, or the helper's (200).
    def target(random) = [0, 0, 1, 1, 2, 3, 100, 101, 200].sample(random:)

    def node_event(random)
      event = draw(random, NODE_EVENTS)
      detail = case event
               when :die then SIGNALS.sample(random:)
               when :exit then [0, 0, 1, 3].sample(random:)
               when :hang then [nil, nil, 0.5, 3.0].sample(random:)
               when :unhealthy then 1 + random.rand(4)
               when :grow then [20, 60, 200].sample(random:)
               when :slow_stop then [1.0, 3.0, 6.0].sample(random:)
               when :unkillable then [1.0, 8.0, 400.0].sample(random:)
               when :post
                 %i[work assigned event cleared blamed ask ready healthy].sample(random:)
               when :stop_process then [nil, 2.0].sample(random:)
      end
      [event, target(random), *detail]
    end

    # A fault that lasts for some seconds.
    def window(random)
      event = draw(random, WINDOWS)
      detail = case event
               when :boot_fault then [%i[die exit clean never fail refuse].sample(random:),
                                      1 + random.rand(8)]
               when :slow then [%i[boot fork forked load warm].sample(random:),
                                (random.rand**2 * 6).round(2)]
               when :mold_fault then [%i[load prepare].sample(random:),
                                      %i[never die crash refuse].sample(random:)]
               when :new_file then %i[name works threads order options events].sample(random:)
               when :late_reports then [(random.rand * 4).round(2)]
      end
      [event, (0.2 + (random.rand**2 * 8)).round(2), *detail]
    end

    def mold_event(random)
      event = draw(random, MOLD_EVENTS)
      detail = case event
               when :mold_die then SIGNALS.sample(random:)
               when :mold_exit then random.rand(2)
               when :mold_hang then [nil, 1.0, 4.0].sample(random:)
      end
      [event, *detail]
    end

    def order(random)
      case (event = draw(random, ORDERS))
      when :hup, :usr2, :ttin, :usr1, :chld then [:signal, event.to_s.upcase]
      when :scale then [:command, :scale, [1, 2, 3, 4, 0, 2_000].sample(random:)]
      when :restart then [:command, :restart, random.rand(3)]
      when :status then %i[command status]
      when :quiet then [:signal, "TSTP"]
      when :resume then %i[command resume]
      end
    end
  end
end
