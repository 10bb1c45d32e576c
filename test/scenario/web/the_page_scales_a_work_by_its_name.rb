# frozen_string_literal: true

# Of a swarm with several works the page names the work of each node, and scales the chosen one.
require_relative "scenario"

SWARM = <<~RUBY
  Skep.swarm "hive" do |swarm|
    %w[web orders].each do |name|
      swarm.work(name, nodes: 1) { |node| node.ready!; node.wait until node.stopping? }
    end
  end
RUBY
NAMES = "[...document.querySelectorAll('#nodes td.work')].map((cell) => cell.textContent).join()"

WebScenario.play do
  swarm = run_swarm(SWARM)
  swarm.await("node_ready", times: 2)
  url = serve(swarm, "--user", "ada", "--password-file", password)

  browse do |browser|
    page = browser.page
    page.visit(url)
    log_in(page, url)
    page.await("#{NAMES} == 'web,orders'")
    page.evaluate(<<~SCRIPT)
      const choice = document.querySelector(".stepper select")
      choice.value = "orders"
      choice.dispatchEvent(new Event("change"))
    SCRIPT
    page.press("[data-step='1']")
    page.press("[data-action=scale]")
    scaled = swarm.await("swarm_scaled")
    must("scale the chosen work: #{scaled}") { scaled["works"] == { "orders" => 2 } }
    page.await("#{NAMES} == 'web,orders,orders'")
    must("log the user and the command") { web_log.include?("ada sent scale orders=2 to hive") }
  end
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
