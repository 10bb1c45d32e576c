# frozen_string_literal: true

require_relative "scenario"
require "kafka/verdicts/life"
require "kafka/verdicts/plan"

# In one swarm fail, one after another: a message that is bad, a process that is ill, and a
# dependency that is unavailable. Each time the verdict is right: the bad message is
# dead-lettered, the ill process is replaced, the dependency is waited for. No good message is ever
# dead-lettered. Each process reports the outage of the dependency once, and its end once; the
# status shows it. (`rake verdicts` plants many more.)
KINDS = %w[raises poisoned_cache refuses].freeze
OPTIONS = { threads: 2, ordered_by: "partition", dead_letters: true, max_attempts: 3,
            retry_for: 300, max_messages: 100, marks: false }.freeze

# It needs no feature of a real broker.
class ToldApart < KafkaScenario
  def self.embedded? = true
end

ToldApart.play do
  place = File.join(directory, "life").tap { |path| Dir.mkdir(path) }
  FileUtils.chmod(0o755, directory)
  address = broker.address if KafkaScenario::Broker::PROGRAM
  seen = []
  life = Verdicts::Life.new(Verdicts::Plan.new(1, KINDS, **OPTIONS), place, address)
  life.run do |observation, events|
    seen << observation
    next puts(observation.to_plain.slice(:kind, :seconds, :back_after)) if observation.right?

    warn events.last(30)
    must("be right about #{observation.fault.kind}: #{observation.why_wrong}") { false }
  end
  must("plant #{KINDS.size} faults, not #{seen.size}") { seen.size == KINDS.size }
end
