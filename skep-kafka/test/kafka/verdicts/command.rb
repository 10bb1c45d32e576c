# frozen_string_literal: true

# The command behind `rake verdicts`:
#
#   ruby -r./test/load_path skep-kafka/test/kafka/verdicts/command.rb KIND COUNT SEED
#
# KIND is "all" or a name of Verdicts::KINDS. LIVES: how many swarms at once; SECONDS: after which
# no fault is planted any more; REPORT: a file that gets a line of JSON for each fault.
require "kafka/verdicts/campaign"

$stdout.sync = true
kind, count, seed = ARGV
plans = Verdicts::Plan.all(kind, Integer(count), Integer(seed))
lives, seconds, report = ENV.values_at("LIVES", "SECONDS", "REPORT")
exit(Verdicts::Campaign.new(plans, at_once: Integer(lives || 1), seconds: seconds && Float(seconds),
                                   report:).run)
