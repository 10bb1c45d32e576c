# frozen_string_literal: true

require "kafka/incidents/brokers"
require "kafka/incidents/catalog"
require "kafka/incidents/table"
require "tmpdir"

module Incidents
  # Plays incidents, each in a swarm of its own, some at once, and prints each and a table. What the
  # status said in one that went wrong, and its events, are kept in tmp/incidents.
  #
  #   Campaign.new(Incidents.named("all"), count: 2, seed: 1, at_once: 1).run   # => true: all right
  class Campaign
    LOGS = "tmp/incidents"
    private_constant :LOGS

    # count: how often each is played. embedded: without a real broker. how: of Judgement.
    def initialize(incidents, count:, seed:, at_once: 1, embedded: Incidents.embedded?,
                   **how)
      @how = how
      @embedded = embedded
      @plan = (incidents * count).shuffle(random: Random.new(seed))
      @plan = @plan.reject(&:real) if embedded
      @at_once = [at_once, @plan.size].min
    end

    def run
      FileUtils.mkdir_p(LOGS)
      rows = Dir.mktmpdir("skep-incidents") { |directory| in_processes(directory) }
      table = Table.new(rows)
      puts table
      table.good? && rows.size == @plan.size
    end

    private

    # Each process has a broker, which incidents stop, and plays every so-many-th of the plan.
    def in_processes(directory)
      reader, writer = IO.pipe
      pids = Array.new(@at_once) do |index|
        fork do
          reader.close
          lane(directory, index, writer)
        end
      end
      writer.close
      reader.each_line.map { |line| told(JSON.parse(line)) }
    ensure
      pids&.each { |pid| Process.wait(pid) }
    end

    def lane(directory, index, writer)
      Dir.mkdir(place = File.join(directory, "broker#{index}"))
      broker = Incidents.broker(place, embedded: @embedded)
      @plan.each_with_index do |incident, number|
        play(incident, broker, directory, number, writer) if number % @at_once == index
      end
    ensure
      broker&.close
    end

    def play(incident, broker, directory, number, writer)
      Dir.mkdir(place = File.join(directory, "#{number}-#{incident.name}"))
      stage = Stage.new(place, broker, "#{incident.name}-#{number}", swarm: incident.swarm,
                                                                     source: incident.source)
      judgement = stage.play(incident, **@how)
      keep(incident, number, judgement, stage) unless judgement.right?
      writer.puts(JSON.generate(Table.row(judgement)))
    ensure
      stage&.close
    end

    def keep(incident, number, judgement, stage)
      spans = stage.history.spans.map { |span| { **span.to_h, looks: span.looks.to_a } }
      lines = [{ why: judgement.why_wrong }, judgement.times, *spans, *stage.swarm.events]
      path = "#{LOGS}/#{incident.name}-#{Process.pid}-#{number}.log"
      File.write(path, lines.map { |one| "#{JSON.generate(one)}\n" }.join)
    end

    def told(row)
      puts Table.line(row)
      row
    end
  end
end
