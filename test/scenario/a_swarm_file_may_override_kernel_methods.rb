# frozen_string_literal: true

# A swarm file defines methods at its top level, which hide Kernel's methods in every object, also
# in skep's. The swarm still boots, replaces a node and stops. If it can't, skep prints one sentence
# that names these methods.
require_relative "scenario"

NAMES = %w[loop tell send fork exit exit! spawn warn puts raise catch start run take sleep].freeze

Scenario.play do
  overrides = NAMES.map { |name| "def #{name}(*) = Kernel.abort('the new #{name} was called')" }
  swarm = run_swarm(<<~RUBY)
    #{overrides.join("\n")}
    module Kernel
      def fork(*) = Kernel.abort("the new Kernel#fork was called")
    end
    Skep.swarm "own", nodes: 2 do |swarm|
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  first, = swarm.await("node_ready", times: 2)
  swarm.kill(first["pid"])
  swarm.await("node_ready")
  must("print nothing: #{swarm.stderr}") { swarm.stderr.empty? }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }

  swarm = run_swarm("def freeze = self\n#{IDLE}")
  status = swarm.wait
  must("name the overridden method: #{status.inspect} #{swarm.stderr}") do
    [1, 78].include?(status.exitstatus) && swarm.stderr.lines.one? &&
      swarm.stderr.match?(/\Askep: .*it defines freeze at its top level.*NoMethodError/)
  end
end
