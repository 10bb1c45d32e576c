# frozen_string_literal: true

# The helper may run as a user without access to the gems: the mold loads all that the server
# needs.
require_relative "scenario"

MetricsScenario.play do
  swarm = run_swarm(<<~'RUBY')
    Skep.swarm "early", nodes: 1, metrics: "127.0.0.1:0" do |swarm|
      swarm.preload do
        mold = Process.pid
        late = Module.new do
          define_method(:require) do |feature|
            super(feature).tap do |loaded|
              $stderr.puts("loaded late: #{feature}") if loaded && Process.pid != mold
            end
          end
          private :require
        end
        Kernel.prepend(late)
      end
      swarm.work { |node| node.ready!; require "ostruct"; node.wait until node.stopping? }
    end
  RUBY
  address(swarm)
  swarm.await("node_ready", times: 2)
  scrape
  get("/readyz")
  swarm.stop
  late = swarm.stderr.scan(/loaded late: (.*)/).flatten
  must("load no file after the fork but the work's: #{late}") { late == %w[ostruct] }
end
