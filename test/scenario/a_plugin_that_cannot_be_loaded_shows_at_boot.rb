# frozen_string_literal: true

# A plugin whose file raises is one warning at boot, with what is wrong. The status and the nodes
# don't need it.
require_relative "scenario"

SOURCE = <<~'RUBY'
  class Mails
    def threads = 1
    def errors = []
    def facts = { kind: "mails" }

    def run(node, _handler)
      node.ready!
      node.work = { kind: "mails" }
      node.wait until node.stopping?
    end
  end

  Skep.swarm "mails", nodes: 1 do |swarm|
    swarm.work(Mails.new) { nil }
  end
RUBY

{ "require \"no/such/library\"" => "LoadError", "def (" => "SyntaxError" }.each do |code, error|
  Scenario.play do
    FileUtils.mkdir_p("#{directory}/lib/skep/plugin")
    File.write("#{directory}/lib/skep/plugin/mails.rb", code)
    swarm = run_swarm(SOURCE, before: "$LOAD_PATH << #{"#{directory}/lib".inspect}")
    warning = swarm.await("work_warning")["warning"]
    must("say what is wrong, not #{warning}") do
      warning.start_with?("skep/plugin/mails.rb can't be loaded, ") && warning.include?(error)
    end
    swarm.await("node_ready")
    2.times { must("show the status") { swarm.status("mails")["nodes"].size == 1 } }
    must("report it once: #{swarm.account}") do
      swarm.events.none? { |event| event["event"] == "supervisor_error" } &&
        swarm.events.count { |event| event["event"] == "work_warning" } == 1
    end
    must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
  end
end
