# frozen_string_literal: true

require_relative "scenario"
require "kafka/incidents/campaign"

# In swarms under steady load a message is bad, a handler hangs at a line, a reload's new code
# fails, and a node is killed. The status names each of the first three by its cause, within five
# seconds (times Patience) of the time from which the docs say that it may be known, and no longer
# than that after its end. It names nothing else, and of a killed node, which is replaced at once,
# nothing at all. `status --exit-status` agrees. (`rake incidents` plants many more.)
INCIDENTS = "bad_message+hang+bad_reload+killed_node"

# It needs no feature of a real broker, which would take long to start.
class Named < KafkaScenario
  def self.embedded? = true
end

Named.play do
  incidents = Incidents.named(INCIDENTS)
  campaign = Incidents::Campaign.new(incidents, count: 1, seed: 1, at_once: 2, embedded: true,
                                                soon: Patience.of(5.0))
  must("name each, and nothing else") { campaign.run }
end
