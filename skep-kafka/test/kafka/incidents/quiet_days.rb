# frozen_string_literal: true

require "kafka/incidents/brokers"
require "kafka/incidents/stage"
require "tmpdir"

module Incidents
  # Minutes of ordinary work, in which the status is to name nothing but what an operator has asked
  # for: bursts and empty times, rebalances as the swarm is scaled and as another swarm of the group
  # comes and goes, deploys, and now and then a node that is killed, which is replaced at once.
  #
  #   QuietDays.new(minutes: 20, seed: 1).run   # => true: nothing false was named
  class QuietDays
    # What is done, and the kinds that it may show by the docs. More of it comes from the same deck.
    CHORES = { burst: [], empty: [], scale: [], other_swarm: [], kill_node: [], reload: %w[rollout],
               restart: %w[rollout], slow_handlers: [] }.freeze
    SUSPECT = "suspect" # of a killed node's messages, until they are done again
    private_constant :CHORES, :SUSPECT

    def initialize(minutes:, seed:)
      @seconds = minutes * 60
      @random = Random.new(seed)
      @done = Hash.new(0)
      @asked = []
    end

    def run
      Dir.mktmpdir("skep-quiet") do |directory|
        @directory = directory
        Dir.mkdir(place = File.join(directory, "broker"))
        @broker = Incidents.broker(place)
        live
      ensure
        @broker&.close
      end
    end

    private

    def live
      Dir.mkdir(place = File.join(@directory, "swarm"))
      @stage = Stage.new(place, @broker, "quiet", swarm: { stop_timeout: 20 })
      @stage.steady
      @stage.watch
      @began = Skep::OS.now
      chores
      @stage.stop_watching
      report
    ensure
      @stage&.close
      @other&.close
    end

    def chores
      deck = []
      while Skep::OS.now < @began + @seconds
        deck = CHORES.keys.shuffle(random: @random) if deck.empty?
        name = deck.pop
        began = Skep::OS.now
        send(name)
        @done[name] += 1
        @asked << [began, Skep::OS.now, CHORES.fetch(name)]
        @stage.follow_for(@random.rand(2.0..8.0))
      end
    end

    def burst
      @stage.load.rate = 120
      @stage.follow_for(@random.rand(2.0..5.0))
      @stage.load.rate = Load::RATE
    end

    def empty
      @stage.load.rate = 0
      @stage.follow_for(@random.rand(5.0..70.0))
      @stage.load.rate = Load::RATE
    end

    def scale
      @stage.skep!("scale", @random.rand(1..2).to_s)
      @stage.follow_for(@random.rand(1.0..8.0))
      @stage.skep!("scale", @random.rand(4..5).to_s)
      @stage.follow_for(@random.rand(1.0..8.0))
      @stage.skep!("scale", "3")
    end

    # Another host, by another name of the swarm.
    def other_swarm
      Dir.mkdir(place = File.join(@directory, "other#{@done[:other_swarm]}"))
      source = Stage::SOURCE.sub('"incidents"', '"other"')
      %w[plan faults].each { |name| FileUtils.cp("#{@stage.directory}/#{name}", place) }
      @other = Scenario::RunningSwarm.new(source, place)
      @other.await("node_ready", times: 3, seconds: 60)
      @stage.follow_for(@random.rand(1.0..8.0))
      stopping = Thread.new { @other.stop(seconds: 60) }
      @stage.await("the other swarm's end", 180) { stopping.join(0) }
      @other.close
      @other = nil
    end

    def kill_node
      nodes = @stage.nodes
      @stage.kill(nodes.sample(random: @random)["pid"]) if nodes.any?
    rescue Errno::ESRCH # it was just replaced
      nil
    end

    def reload = @stage.skep!("reload")
    def restart = @stage.skep!("restart")

    # Each message takes longer for a while, as long as a handler may.
    def slow_handlers
      @stage.fault("slow")
      @stage.follow_for(@random.rand(3.0..10.0))
      @stage.no_fault("slow")
    end

    def report
      spans = @stage.history.spans
      wrong = spans.reject { |span| asked_for?(span) }
      puts format("%.0f s, %s", Skep::OS.now - @began, @done.map { |pair|
  pair.join(" ")
}.join(", "))
      puts format("%-10s %-20s %9s  %s", "time", "kind", "duration", "what")
      spans.each { |span| puts line(span, wrong.include?(span)) }
      puts "#{spans.size} problems, #{wrong.size} of them false"
      keep(spans) if wrong.any?
      wrong.empty?
    end

    def line(span, wrong)
      format("%8.1f s %-20s %7.1f s  %s%s: %s", span.first - @began, span.kind, span.seconds,
             ("FALSE " if wrong), span.subject, span.looks.keys.last[1])
    end

    # A killed node's messages are suspects until they are done again, and no longer.
    def asked_for?(span)
      return span.seconds < 5 if span.kind == SUSPECT && @done[:kill_node].positive?

      @asked.any? do |from, to, kinds|
        kinds.include?(span.kind) && span.first.between?(from - 0.5, to + 0.5)
      end
    end

    def keep(spans)
      FileUtils.mkdir_p("tmp/incidents")
      lines = [*spans.map { |span| { **span.to_h, looks: span.looks.to_a } }, *@stage.swarm.events]
      File.write("tmp/incidents/quiet-#{Process.pid}.log",
                 lines.map { |one| "#{JSON.generate(one)}\n" }.join)
    end
  end
end
