# frozen_string_literal: true

# Collects the metrics of the work: the totals of each work over the swarm's life. Plugins collect
# those of the kinds of work that they add.
#
#   WorkCollector.new(prometheus_text).collect(status)    # status: as in `skep status --json`
module Skep
  module Metrics
    class WorkCollector
      def initialize(output)
        @output = output
      end

      def collect(status)
        status["works"].each { |work| work(work) unless Plugin.loaded.key?(work["kind"]) }
        Plugin.loaded.each_value { |plugin| plugin.collect(status, @output) }
      end

      private

      def work(facts)
        work = facts["work"]
        @output.add("skep_handler_seconds", facts["handler"], work:, group: facts["group"])
        facts["totals"].each { |name, count| @output.add("skep_work_total", count, work:, name:) }
      end
    end
  end
end
