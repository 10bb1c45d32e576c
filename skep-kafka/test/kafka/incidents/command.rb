# frozen_string_literal: true

# The command behind `rake incidents`:
#
#   ruby -r./test/load_path skep-kafka/test/kafka/incidents/command.rb KIND COUNT SEED
#
# KIND is "all", names of incidents joined by "+", or "quiet": then COUNT is in minutes. LIVES: how
# many swarms at once.
require "kafka/incidents/campaign"
require "kafka/incidents/quiet_days"

$stdout.sync = true
kind, count, seed = ARGV
if kind == "quiet"
  good = Incidents::QuietDays.new(minutes: Float(count), seed: Integer(seed)).run
else
  at_once = Integer(ENV.fetch("LIVES", "1"))
  good = Incidents::Campaign.new(Incidents.named(kind), count: Integer(count), seed: Integer(seed),
                                                        at_once:).run
end
exit(good)
