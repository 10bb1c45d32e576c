# frozen_string_literal: true

# With 9,000 partitions, all of which fail, the page has some hundreds of rows and says how many
# more there are. It renders each status, each sort and each letter of a filter within moments, and
# a slow reader isn't disconnected by the size of the first status.
require_relative "scenario"

PARTITIONS = 9_000
SWARM = <<~RUBY
  Skep.swarm "hive", nodes: 3, liveness_timeout: 120 do |swarm|
    swarm.work do |node|
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      rows = lambda do |turn|
        Array.new(#{PARTITIONS / 3}) do |index|
          number = index * 3 + node.id
          { "topic" => "orders", "partition" => number, "held" => true, "rate" => 1.5,
            "lag" => (number * 7919 + turn) % 100_003, "position" => number, "messages" => 1, "retries" => 0,
            "dead_letters" => 0, "skipped" => 0, "rebalances" => 1,
            "failing" => { "cause" => "dependency", "messages" => 1, "offset" => 41, "since" => began, "attempt" => 3,
                           "at" => "app/models/billing/invoice.rb:12", "error" => "Timeout::Error: " + "x" * 150 } }
        end
      end
      turn = 0
      until node.stopping?
        node.work = { "kind" => "kafka", "group" => "billing", "lag" => 1, "lag_unknown" => 0,
                      "rate" => 1.5, "partitions" => rows.call(turn += 1) }
        node.ready! if turn == 1
        node.wait(2)
      end
    end
  end
RUBY
ROWS = "document.querySelectorAll('#partitions tbody tr:not(.under)').length"
SAID = "document.querySelector('#partitions-part [role=status]').textContent"
# The longest time in which the page's thread was busy, in milliseconds, while these happen.
LONGEST = <<~SCRIPT
  new Promise(async (done) => {
    const frame = () => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))
    const took = []
    for (const act of acts) {
      const began = performance.now()
      act()
      await frame()
      took.push(Math.round(performance.now() - began))
    }
    done(took)
  })
SCRIPT
MOST = Patience.of(500) # milliseconds

WebScenario.play do
  swarm = run_swarm(SWARM)
  swarm.await("node_ready", times: 3)
  url = serve(swarm)
  browse do |browser|
    page = browser.page
    began = Skep::OS.now
    page.visit(url)
    page.await("#{ROWS} == 200")
    opened = Skep::OS.now - began
    said = page.evaluate(SAID)
    must("say how many there are, not #{said}") do
      said == "9,000 partitions, 9,000 with a problem, the first 200 are shown"
    end

    page.evaluate(<<~SCRIPT)
      window.long = []
      new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" })
      0
    SCRIPT
    page.await("(window.texts ??= new Set()).add(document.querySelector('#partitions .lag-cell').textContent).size > 3")
    updates = page.evaluate("long.map(Math.round)")
    acts = <<~SCRIPT
      const find = document.querySelector("[data-filter=partitions]")
      const type = (text) => () => { find.value = text; find.dispatchEvent(new Event("input")) }
      const head = (name) => () => [...document.querySelectorAll("#partitions .sorter")].find((one) => one.textContent == name).click()
      const acts = [head("Lag"), head("Lag"), head("Failing"), ...["o", "or", "orders/8", "orders/89"].map(type)]
    SCRIPT
    took = page.evaluate("(async () => { #{acts} return await #{LONGEST} })()")
    said = page.evaluate(SAID)
    must("count what is found, not #{said}") do
      said == "111 of 9,000 partitions, 111 with a problem"
    end
    page.evaluate("(() => { #{acts} type('')(); document.querySelector('#partitions .next').click() })()")
    must("show more when asked, not #{page.evaluate(ROWS)}") { page.evaluate(ROWS) == 400 }
    resident = File.read("/proc/#{web_pid}/status")[/VmHWM:\s+(\d+)/, 1].to_i / 1024
    puts "opened in #{opened.round(1)} s; updates #{updates} ms; sorts and filters #{took} ms; " \
         "server #{resident} MiB"
    must("be quick: #{[updates, took]}") { [*updates, *took].max <= MOST }
    requests = page.requests.count { |to| to.end_with?("/live") }
    must("keep one stream, not open #{requests}") { requests == 1 }
  end
  stop_web
end
