# frozen_string_literal: true

# A swarm file defines methods at its top level, as scripts do: they are every object's then, and
# hide Kernel's from skep as well. The swarm boots, replaces a node and stops all the same; where it
# can't there is one sentence that names them.
require_relative "scenario"

NAMES = %w[loop tell send fork exit exit! spawn warn puts raise catch start run take sleep].freeze

Scenario.play do
  own = NAMES.map { |name| "def #{name}(*) = Kernel.abort('the own #{name} was called')" }
  swarm = run_swarm(<<~RUBY)
    #{own.join("\n")}
    module Kernel
      def fork(*) = Kernel.abort("the own Kernel#fork was called")
    end
    Skep.swarm "own", nodes: 2 do |swarm|
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  first, = swarm.await("node_ready", times: 2)
  swarm.kill(first["pid"])
  swarm.await("node_ready")
  must("say nothing: #{swarm.stderr}") { swarm.stderr.empty? }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }

  swarm = run_swarm("def freeze = self\n#{IDLE}")
  status = swarm.wait
  must("say what is hidden: #{status.inspect} #{swarm.stderr}") do
    [1, 78].include?(status.exitstatus) && swarm.stderr.lines.one? &&
      swarm.stderr.match?(/\Askep: .*it defines freeze at its top level.*NoMethodError/)
  end
end
