# frozen_string_literal: true

module Verdicts
  # The outages of a dependency that the nodes of a life have reported. Each process reports one
  # once, and its end once. What it has of an outage after a rebalance isn't known.
  #
  #   outages = Outages.new(events)
  #   outages.begun     # how many were reported
  #   outages.open      # pids of processes in which one lasts
  #   outages.wrong     # => ["71 reports an outage twice"]
  class Outages
    attr_reader :begun, :wrong

    def initialize(events)
      @begun, @wrong, @states = 0, [], Hash.new(:over)
      events.each { |event| note(*event.values_at("event", "pid", "change")) }
    end

    def open = @states.filter_map { |pid, state| pid if state == :lasts }

    private

    def note(name, pid, change)
      case name
      when "kafka_dependency_away"
        @begun += 1
        @wrong << "#{pid} reports an outage twice" if @states[pid] == :lasts
        @states[pid] = :lasts
      when "kafka_dependency_back"
        @wrong << "#{pid} reports the end of no outage" if @states[pid] == :over
        @states[pid] = :over
      when "kafka_rebalance"
        @states[pid] = :unknown if change != "assigned" && @states[pid] == :lasts
      when "node_died", "node_exited" then @states.delete(pid)
      end
    end
  end
end
