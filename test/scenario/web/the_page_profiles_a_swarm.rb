# frozen_string_literal: true

# A visitor who has logged in profiles the swarm by a button, and the page names the hot method of
# each work and its share, without an accessibility violation. Others have no such button.
require_relative "scenario"

SWARM = <<~RUBY
  module Bill
    def self.hot
      i = 0
      i += 1 while i < 90_000
    end

    def self.cool
      i = 0
      i += 1 while i < 10_000
    end
  end

  Skep.swarm "hive", liveness_timeout: 120 do |swarm|
    swarm.work("bills", nodes: 1) do |node|
      node.ready!
      until node.stopping?
        5.times { [Bill.hot, Bill.cool] }
        node.wait(0.05)
      end
    end
    swarm.work("idle", nodes: 1) { |node| node.ready!; node.wait until node.stopping? }
  end
RUBY
ROW = "[...document.querySelectorAll('#profile tbody tr')].map((row) => " \
      "[...row.children].map((cell) => cell.textContent))"

WebScenario.play do
  missing "skep's C part" unless Skep::OS.native?
  swarm = run_swarm(SWARM)
  swarm.await("node_ready", times: 2)
  url = serve(swarm, "--user", "ada", "--password-file", password)

  browse do |browser|
    page = browser.page
    page.visit(url)
    log_in(page, url)
    page.await("document.querySelectorAll('#nodes tbody tr').length >= 2")
    # By the keyboard: rows that appear above it move the button.
    page.evaluate("document.querySelector('#profile-start').focus()")
    page.key("Enter")
    page.await("document.querySelector('#profile tbody tr')")
    row = page.evaluate(ROW).first
    must("name the work, the method and its place: #{row}") do
      row[0] == "bills" && row[2] == "Bill.hot" && row[3].match?(%r{\A.+/swarm\.rb:4\z})
    end
    must("show its share: #{row}") { row[1].to_f.between?(75, 100) }
    check_themes(page, "with the hottest methods")
    must("log the user and the command") { web_log.include?("ada sent profile to hive") }
  end
  stop_web

  url = serve(swarm)
  browse do |browser|
    page = browser.page
    page.visit(url)
    page.await("document.querySelectorAll('#nodes tbody tr').length >= 2")
    must("have no button for a visitor who may not act") do
      page.evaluate("document.querySelector('#profile-part').hidden")
    end
  end
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
