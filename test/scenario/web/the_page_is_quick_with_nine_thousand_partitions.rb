# frozen_string_literal: true

# With 9,000 partitions, all of which fail, the page has a hundred rows and says how many
# more there are. It draws a status, a sort and each letter of a filter within moments. The size of
# the first status, several MiB, disconnects no page.
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
# How many milliseconds each of these takes until it is drawn.
DURATIONS = <<~SCRIPT
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
MOST = Patience.of(3000) # milliseconds; it takes some 100 of a processor

WebScenario.play do
  swarm = run_swarm(SWARM)
  swarm.await("node_ready", times: 3)
  url = serve(swarm)
  browse do |browser|
    page = browser.page
    began = Skep::OS.now
    page.visit(url)
    page.await("#{ROWS} == 100")
    opened = Skep::OS.now - began
    said = page.evaluate(SAID)
    must("say how many there are, not #{said}") do
      said == "9,000 partitions, 9,000 with a problem, the first 100 are shown"
    end

    acts = <<~SCRIPT
      const find = document.querySelector("[data-filter=partitions]")
      const type = (text) => () => { find.value = text; find.dispatchEvent(new Event("input")) }
      const head = (name) => () => [...document.querySelectorAll("#partitions .sorter")].find((one) => one.textContent == name).click()
      const draw = () => dispatchEvent(new Event("choice")) // as after a status
      const acts = [draw, draw, head("Lag"), head("Lag"), head("Failing"), ...["o", "or", "orders/8", "orders/89"].map(type)]
    SCRIPT
    took = page.evaluate("(async () => { #{acts} return await #{DURATIONS} })()")
    said = page.evaluate(SAID)
    must("count what is found, not #{said}") do
      said == "111 of 9,000 partitions, 111 with a problem, the first 100 are shown"
    end
    more = "document.querySelector('#partitions .next').click()"
    page.evaluate("(() => { #{acts} type('')(); #{more} })()")
    must("show more when asked, not #{page.evaluate(ROWS)}") { page.evaluate(ROWS) == 200 }
    resident = File.read("/proc/#{web_pid}/status")[/VmHWM:\s+(\d+)/, 1].to_i / 1024
    puts "opened in #{opened.round(1)} s; draws, sorts and filters in #{took} ms; the server " \
         "takes #{resident} MiB"
    must("be quick: #{took}") { took.max <= MOST }
    requests = page.requests.count { |to| to.end_with?("/live") }
    must("keep one stream, not open #{requests}") { requests == 1 }
  end
  stop_web
end
