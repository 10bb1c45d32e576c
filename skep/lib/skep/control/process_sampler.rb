# frozen_string_literal: true

# Measures what takes two looks at a swarm: the processor time of its nodes, from /proc, and their
# rate of work where they report only a count.
#
#   sampler = ProcessSampler.new
#   sample = sampler.sample(status, OS.now, pids: true)
#   sample.cpu[3]     # => 0.25, the part of one processor that node 3 uses; nil: not known yet
#   sample.rates[3]   # => 120.5, messages or items a second; nil: not known
#
# pids: false if the swarm runs in another container, whose pids are others here.
module Skep
  module Control
    class ProcessSampler
      Sample = Struct.new(:cpu, :rates)
      WINDOW = 10.0 # seconds over which a rate is measured
      private_constant :WINDOW

      def initialize
        @spent = {}
        @counts = {}
      end

      def sample(status, now, pids:)
        nodes = status["nodes"]
        Sample.new(pids ? cpu(nodes, now) : {}, rates(nodes, now))
      end

      private

      # The start time tells a process from an older one with the same pid.
      def cpu(nodes, now)
        before, @spent = @spent, {}
        nodes.each_with_object({}) do |node, parts|
          pid = node["pid"]
          stat = pid && OS::ProcessState::Stat.of("/proc/#{Integer(pid)}/stat") or next
          process = [pid, stat.started]
          @spent[process] = [stat.cpu, now]
          spent_before, at = before[process]
          parts[node["id"]] = (stat.cpu - spent_before) / (now - at) if at && now > at
        end
      end

      def rates(nodes, now)
        keys = nodes.to_h { |node| [node.values_at("id", "pid"), true] }
        @counts.keep_if { |key, _| keys.key?(key) }
        nodes.to_h do |node|
          reported = node["work"]["rate"]
          [node["id"], reported.is_a?(Numeric) ? reported : measured(node, now)]
        end
      end

      # nil if the node counts nothing.
      def measured(node, now)
        done = node["work"]["done"]
        return unless done.is_a?(Numeric)

        counts = @counts[node.values_at("id", "pid")] ||= []
        counts.clear if counts.any? && done < counts.last[1] # another process
        counts << [now, done]
        counts.shift while now - counts[0][0] > WINDOW && counts.size > 2
        (at, before), = counts
        (done - before) / (now - at) if now > at && done.positive?
      end
    end
  end
end
