# frozen_string_literal: true

# The page of a real swarm in a real browser: it shows events as they happen, controls the swarm for
# a visitor with a login, runs no HTML that nodes report, refuses requests of other sites, and fits
# a phone.
require_relative "scenario"

HOSTILE = "<img src=x onerror=hurt()><script>hurt()</script>"

SWARM = <<~RUBY
  Skep.swarm "hive", nodes: 3, spares: 1 do |swarm|
    swarm.work do |node|
      node.work = { "kind" => "kafka", "group" => #{HOSTILE.inspect}, #{HOSTILE.inspect} => 1, "lag" => 1,
                     "lag_unknown" => 0, "rate" => 1.5,
                     "partitions" => [{ "topic" => #{HOSTILE.inspect}, "partition" => node.id,
                     "held" => true, "lag" => 7, "rate" => 1.5, "position" => 1, "messages" => 1,
                     "retries" => 0, "dead_letters" => 0, "skipped" => 0, "rebalances" => 1 }] }
      node.ready!
      node.event(:odd, level: :warn, note: #{HOSTILE.inspect})
      node.wait until node.stopping?
    end
  end
RUBY

ROWS = "document.querySelectorAll('#nodes tbody tr:not(.under)').length"
DEATHS = <<~SCRIPT.chomp
  [...document.querySelectorAll('#events b')].filter((name) => name.textContent == 'node died').length
SCRIPT
LUMINANCE = <<~SCRIPT
  getComputedStyle(document.body).backgroundColor.match(/\\d+/g).reduce((sum, one) => sum + +one, 0) / 765
SCRIPT

WebScenario.play do
  swarm = run_swarm(SWARM)
  swarm.await("node_ready", times: 3)
  swarm.await("spare_ready")
  swarm.kill(swarm.status("hive")["nodes"][0]["pid"])
  swarm.await("node_died")
  swarm.await("spare_ready")
  url = serve(swarm, "--user", "ada", "--password-file", password)

  browse do |browser|
    page = browser.page
    page.visit(url)
    must("show nothing but the login form") { page.evaluate("!document.querySelector('#swarm')") }
    log_in(page, url)
    page.await("#{ROWS} == 4 && document.querySelector('#live').textContent == 'live'")
    shown = page.evaluate("getComputedStyle(document.querySelector('#nodes td.work')).display")
    must("have no column for the only work") { shown == "none" }

    # It begins with what happened before.
    page.await("#{DEATHS} == 1")

    # The page shows a node's death without a reload.
    killed = swarm.status("hive")["nodes"][1]["pid"]
    swarm.kill(killed)
    page.await("document.querySelector('#nodes').textContent.includes('SIGKILL')")
    page.await("#{DEATHS} == 2")
    swarm.await("spare_ready")

    # The details of a node open by the keyboard, too. The node reports HTML.
    page.evaluate("document.querySelector('#nodes .toggle').focus()")
    page.key("Enter")
    page.await("document.querySelector('.under dl').textContent.includes('onerror')")
    page.await("document.querySelector('#partitions').textContent.includes('<img src=x')")
    images = page.evaluate("document.querySelectorAll('main img').length")
    must("show reported HTML as text only") { images.zero? }

    # The buttons.
    page.press("[data-step='1']")
    page.press("[data-action=scale]")
    swarm.await("swarm_scaled") { |event| event["to"] == 4 }
    page.await("#{ROWS} == 5")
    page.press("[data-action=stop]")
    page.await("document.querySelector('#ask').open")
    page.key("Escape")
    page.await("!document.querySelector('#ask').open")
    page.press("[data-action=restart]")
    page.await("document.querySelector('#ask').open")
    page.press("#ask-yes")
    swarm.await("restart_finished")
    must("log the user and the command") { web_log.include?("skep web: ada sent scale 4 to hive") }

    # A chart bridges short gaps, and shows long ones.
    runs = page.evaluate(<<~SCRIPT)
      import("./assets/scripts/charts.js").then(({ Chart, History }) => {
        const chart = new Chart([{ line: "lag", tone: "lag" }])
        const lag = [1, null, null, 2, 3, ...Array(9).fill(null), 4, 5]
        chart.show(new History({ step: 3, steps: lag.length, at: 0, lines: { lag } }))
        return chart.svg.querySelector(".line").getAttribute("d").match(/M/g).length
      })
    SCRIPT
    must("draw two runs, not #{runs}") { runs == 2 }

    # Another site's form, and a script without the page's token.
    refused = page.evaluate(<<~SCRIPT)
      fetch("actions", { method: "POST", headers: { "content-type": "application/json" },
                       body: JSON.stringify({ swarm: "hive", command: "stop" }) }).then((answer) => answer.status)
    SCRIPT
    must("refuse a request without the page's token, not #{refused}") { refused == 403 }
    other = browser.page
    other.visit("data:text/html,<form method=post action='#{url}actions' enctype=text/plain>" \
                "<button name='{\"swarm\":\"hive\",\"command\":\"stop\",\"a\":\"' value='\"}'>")
    other.leave { other.press("button") }
    text = other.evaluate("document.body.textContent")
    must("refuse another site's form, not show #{text.inspect}") { text.include?("another site") }

    # A phone, and the dark theme.
    phone = browser.page(width: 390, height: 844, dark: true)
    phone.visit(url)
    phone.await("#{ROWS} == 5")
    wide = phone.evaluate("document.documentElement.scrollWidth")
    must("fit a phone, not be #{wide} wide") { wide <= 390 }
    must("be dark in the dark theme only") do
      phone.evaluate(LUMINANCE) < 0.2 && page.evaluate(LUMINANCE) > 0.8
    end

    # The swarm ends and starts again.
    swarm.kill(swarm.pid)
    page.await("document.querySelector('#alarm').textContent.includes('away')")
    swarm.wait
    again = run_swarm(nil, in_directory: swarm.directory)
    page.await("document.querySelector('#alarm').hidden && " \
               "document.querySelector('#about').textContent.includes('pid #{again.pid}')")

    errors = [*page.errors, *phone.errors].grep_v(/status of 40[13]/)
    must("load and run only its own files: #{errors}") { errors.empty? }
    requested = [page, phone].flat_map(&:requests)
    foreign = requested.reject { |to| to.start_with?(url, "data:", "about:") }
    must("send requests to no other host: #{foreign}") { foreign.empty? }
    again.await("node_ready", times: 3)
    must("keep the swarm running") { again.status("hive")["state"] == "running" }
  end
  stop_web
end
