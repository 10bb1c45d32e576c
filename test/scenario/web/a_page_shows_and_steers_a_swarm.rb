# frozen_string_literal: true

# A real swarm's page in a real browser: it follows what happens, steers for who has logged in, runs
# nothing that nodes tell, does nothing that another site asks for, and fits a phone.
require_relative "scenario"

HOSTILE = "<img src=x onerror=hurt()><script>hurt()</script>"

SWARM = <<~RUBY
  Skep.swarm "hive", nodes: 3, spares: 1 do |swarm|
    swarm.work do |child|
      child.work = { "kind" => "kafka", "group" => #{HOSTILE.inspect}, #{HOSTILE.inspect} => 1, "lag" => 1,
                     "rate" => 1.5, "partitions" => [{ "topic" => #{HOSTILE.inspect}, "partition" => child.id,
                     "held" => true, "lag" => 7, "rate" => 1.5, "position" => 1 }] }
      child.ready!
      child.event(:odd, level: :warn, note: #{HOSTILE.inspect})
      child.wait until child.stopping?
    end
  end
RUBY

ROWS = "document.querySelectorAll('#nodes tbody tr:not(.under)').length"
LUMINANCE = <<~SCRIPT
  getComputedStyle(document.body).backgroundColor.match(/\\d+/g).reduce((sum, one) => sum + +one, 0) / 765
SCRIPT

WebScenario.play do
  swarm = run_swarm(SWARM)
  swarm.await("node_ready", times: 3)
  swarm.await("spare_ready")
  url = serve(swarm, "--user", "ada", "--password-file", password)

  browse do |browser|
    page = browser.page
    page.visit(url)
    must("show nothing but a way in") { page.evaluate("!document.querySelector('#swarm')") }
    log_in(page, url)
    page.await("#{ROWS} == 4 && document.querySelector('#live').textContent == 'live'")

    # What a node's death changes is there by itself.
    killed = swarm.status("hive")["nodes"][1]["pid"]
    swarm.kill(killed)
    page.await("document.querySelector('#nodes').textContent.includes('SIGKILL')")
    page.await("document.querySelector('#events').textContent.includes('node died')")
    swarm.await("spare_ready")

    # By keys alone, too: the first node's row opens. It tells what it likes.
    page.evaluate("document.querySelector('#nodes .toggle').focus()")
    page.key("Enter")
    page.await("document.querySelector('.under dl').textContent.includes('onerror')")
    page.await("document.querySelector('#partitions').textContent.includes('<img src=x')")
    images = page.evaluate("document.querySelectorAll('main img').length")
    must("show it as text only") { images.zero? }

    # Buttons do what they say.
    page.press("[data-step='1']")
    page.press("[data-deed=scale]")
    swarm.await("swarm_scaled") { |event| event["to"] == 4 }
    page.await("#{ROWS} == 5")
    page.press("[data-deed=stop]")
    page.await("document.querySelector('#ask').open")
    page.key("Escape")
    page.await("!document.querySelector('#ask').open")
    page.press("[data-deed=restart]")
    page.await("document.querySelector('#ask').open")
    page.press("#ask-yes")
    swarm.await("restart_finished")
    must("tell who did it") { web_log.include?("skep web: ada asked of hive: scale 4") }

    # Another site's form, and a script without the page's token.
    refused = page.evaluate(<<~SCRIPT)
      fetch("deeds", { method: "POST", headers: { "content-type": "application/json" },
                       body: JSON.stringify({ swarm: "hive", command: "stop" }) }).then((answer) => answer.status)
    SCRIPT
    must("refuse what no page of ours asks, not #{refused}") { refused == 403 }
    other = browser.page
    other.visit("data:text/html,<form method=post action='#{url}deeds' enctype=text/plain>" \
                "<button name='{\"swarm\":\"hive\",\"command\":\"stop\",\"a\":\"' value='\"}'>")
    other.leave { other.press("button") }
    said = other.evaluate("document.body.textContent")
    must("refuse another site's form, not say #{said.inspect}") { said.include?("another site") }

    # A phone, and the night.
    phone = browser.page(width: 390, height: 844, dark: true)
    phone.visit(url)
    phone.await("#{ROWS} == 5")
    wide = phone.evaluate("document.documentElement.scrollWidth")
    must("fit a phone, not be #{wide} wide") { wide <= 390 }
    must("be dark at night") { phone.evaluate(LUMINANCE) < 0.2 && page.evaluate(LUMINANCE) > 0.8 }

    # Away, and back by itself.
    swarm.kill(swarm.pid)
    page.await("document.querySelector('#alarm').textContent.includes('away')")
    swarm.wait
    again = run_swarm(nil, in_directory: swarm.directory)
    page.await("document.querySelector('#alarm').hidden && " \
               "document.querySelector('#about').textContent.includes('pid #{again.pid}')")

    complaints = [*page.complaints, *phone.complaints].grep_v(/status of 40[13]/)
    must("load and run only what is its own: #{complaints}") { complaints.empty? }
    asked = [page, phone].flat_map(&:requests)
    foreign = asked.reject { |to| to.start_with?(url, "data:", "about:") }
    must("ask nobody else: #{foreign}") { foreign.empty? }
    again.await("node_ready", times: 3)
    must("do nothing that wasn't asked for") { again.status("hive")["state"] == "running" }
  end
  stop_web
end
