# frozen_string_literal: true

# axe-core's automatic accessibility checks find nothing on the page: logged in and out, in both
# themes, on a phone, with problems, a dialog, details and an alarm, read-only, without a swarm.
require_relative "scenario"

BUSY = <<~'RUBY'
  FAILING = { "cause" => "message", "messages" => 1, "since" => 1.0, "offset" => 41, "attempt" => 3,
              "at" => "app/invoice.rb:12", "error" => "KeyError: key not found: :customer" }.freeze

  Skep.swarm "hive", nodes: 2, spares: 1, max_restarts: 1, kill_timeout: 1 do |swarm|
    swarm.work do |node|
      raise "it doesn't start" if node.id == 1 && File.exist?(ENV.fetch("BROKEN"))

      node.work = { "kind" => "kafka", "group" => "billing", "lag" => 10, "lag_unknown" => 0,
                    "rate" => 2.5, "host" => "a",
                    "partitions" => [{ "topic" => "orders", "partition" => node.id, "held" => true,
                                       "lag" => 5, "rate" => 1.2, "position" => 99, "messages" => 1,
                                       "retries" => 0, "dead_letters" => 0, "skipped" => 0,
                                       "rebalances" => 1, "failing" => FAILING }] }
      node.ready!
      node.wait until node.stopping?
    end
  end
RUBY

WebScenario.play do
  broken = "#{directory}/broken"
  swarm = run_swarm(BUSY, env: { "BROKEN" => broken })
  swarm.await("node_ready", times: 2)
  swarm.await("spare_ready")
  url = serve(swarm, "--user", "ada", "--password-file", password)

  browse do |browser|
    page = browser.page
    page.visit(url)
    check_themes(page, "in the login form")
    page.type("[name=user]", "ada")
    page.type("[name=password]", "wrong")
    page.leave { page.press("button.main") }
    check_themes(page, "after a wrong password")

    log_in(page, url)
    page.await("document.querySelectorAll('#nodes tbody tr:not(.under)').length == 3 && " \
               "document.querySelectorAll('#partitions tbody tr:not(.under)').length == 2")
    check_themes(page, "after a login")
    phone = browser.page(width: 390, height: 844)
    phone.visit(url)
    phone.await("document.querySelectorAll('#nodes tbody tr:not(.under)').length == 3")
    check_themes(phone, "on a phone")

    page.press("[data-action=backtraces]")
    page.await("document.querySelector('#notice.shown')")
    swarm.await("node_backtraces", times: 2)
    page.press("#nodes .toggle")
    page.await("document.querySelector('.under dl')")
    page.press(".under button")
    page.await("document.querySelector('.under pre')")
    %w[#partitions #events].each do |place|
      page.evaluate("document.querySelector('#{place} .toggle').click()")
      page.await("document.querySelector('#{place} dl')")
    end
    page.evaluate("document.querySelector('#partitions .sorter').click()")
    must("name the threads") do
      page.evaluate("document.querySelector('.under pre').textContent").include?("skep.control (")
    end
    check_themes(page, "with details of a node, a partition and an event, backtraces and a notice")

    %w[restart stop].each do |action|
      page.press("[data-action=#{action}]")
      page.await("document.querySelector('#ask').open")
      check_themes(page, "with the dialog of #{action}")
      page.key("Escape")
      page.await("!document.querySelector('#ask').open")
    end

    File.write(broken, "")
    swarm.kill(swarm.status("hive")["nodes"][1]["pid"])
    page.await("document.querySelector('#problems').textContent.includes('crash loop')")
    check_themes(page, "in a crash loop")
    phone.await("document.querySelector('#problems').textContent.includes('crash loop')")
    check_themes(phone, "on a phone, in a crash loop")
    swarm.kill(swarm.pid)
    page.await("document.querySelector('#alarm').textContent.includes('away')")
    check_themes(page, "with a swarm that is away")
    stop_web
    swarm.wait
    File.unlink("#{swarm.directory}/hive.sock")

    url = serve(swarm)
    page.visit(url)
    page.await("!document.querySelector('#nothing').hidden")
    check_themes(page, "without a swarm")
  end
  stop_web
end
