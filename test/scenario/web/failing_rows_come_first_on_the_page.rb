# frozen_string_literal: true

# What an operator looks for at night: on the page what fails comes first and is marked, partitions
# are sorted and filtered by the keyboard, a link keeps the choice (through a login, too), facts are
# lists of definitions, times have one zone, and a phone shows the state before the buttons.
require_relative "scenario"

SWARM = <<~'RUBY'
  Skep.swarm "hive", liveness_timeout: 60 do |swarm|
    swarm.work("mail", nodes: 1) { |node| node.ready!; node.wait until node.stopping? }
    swarm.work("orders", nodes: 2) do |node|
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      failing = { 7 => 600, 10 => 60 }
      rows = (0...12).map do |number|
        { "topic" => "orders", "partition" => number, "held" => true, "lag" => [5, 90, 7][number % 3],
          "rate" => 1.5, "position" => number, "messages" => 1, "retries" => number == 4 ? 9 : 0,
          "dead_letters" => 0, "skipped" => 0, "rebalances" => 1,
          "failing" => failing[number] && { "cause" => "message", "messages" => 1, "offset" => 41,
            "since" => began - failing[number], "attempt" => 3, "at" => "app/invoice.rb:12",
            "error" => "KeyError: key not found: :customer" } }.compact
      end
      node.work = { "kind" => "kafka", "group" => "billing", "lag" => 1, "lag_unknown" => 0,
                    "rate" => 1.5, "partitions" => node.id == 1 ? rows : [],
                    "limits" => { "orders" => { "rate" => 7 } } }
      node.ready!
      node.event(:odd, level: :error, at: "app/invoice.rb:12", error: "KeyError: x",
                       place: { "shop" => { "city" => "Bern" } }) if node.id == 1
      node.wait until node.stopping?
    end
  end
RUBY

TITLES = <<~SCRIPT.chomp
  [...document.querySelectorAll("#partitions tbody tr:not(.under) .title")].map((cell) => cell.textContent)
SCRIPT
SORTED = '[...document.querySelectorAll("#partitions [aria-sort]")].map((head) => ' \
         'head.textContent + " " + head.getAttribute("aria-sort")).join()'
SMALL = <<~SCRIPT.chomp
  [...document.querySelectorAll("button, select, input:not([type=hidden]), nav a, .brand")]
    .filter((one) => one.offsetParent).map((one) => [one.outerHTML, one.getBoundingClientRect()])
    .filter(([, { width, height }]) => width < 44 || height < 44).map(([html]) => html)
SCRIPT

class IncidentPage < WebScenario
  def look
    swarm = run_swarm(SWARM)
    swarm.await("node_ready", times: 3)
    swarm.await("odd")
    url = serve(swarm, "--user", "ada", "--password-file", password)
    browse do |browser|
      page = browser.page
      page.visit(url)
      log_in(page, url)
      page.await("#{TITLES}.length == 12")
      marks(page)
      sort(page)
      filter(page)
      share(browser, page)
      details(page)
      times(browser, url)
      phone(browser, url)
      check_themes(page, "with problems, details and a filter")
      errors = page.errors.grep_v(/status of 40[13]/)
      must("have no error: #{errors}") { errors.empty? }
    end
    stop_web
  end

  private

  def marks(page)
    titles = page.evaluate(TITLES)
    order = ["orders 7", "orders 10", *[*0..6, 8, 9, 11].map { |number| "orders #{number}" }]
    must("show what fails first, then by number: #{titles}") { titles == order }
    marked = page.evaluate('[...document.querySelectorAll("tr.trouble")]' \
                           ".map((row) => row.textContent)")
    must("mark the work, its node and both partitions in words: #{marked}") do
      marked.size == 4 && marked.all?(/fail/) && marked.grep(/KeyError/).size == 2 &&
        marked.first.start_with?("orders") && marked[1].start_with?("1")
    end
  end

  def head(page, name)
    page.evaluate("[...document.querySelectorAll('#partitions .sorter')]" \
                  ".find((button) => button.textContent == '#{name}').focus()")
  end

  def sort(page)
    head(page, "Lag")
    page.key("Enter")
    page.await("#{SORTED} == 'Lag descending'")
    first = page.evaluate("#{TITLES}.slice(0, 5)")
    must("sort by lag, of equal ones what fails first, not #{first}") do
      first == ["orders 7", "orders 10", "orders 1", "orders 4", "orders 2"]
    end
    focused = page.evaluate("document.activeElement.textContent")
    must("keep the focus, not move it to #{focused}") { focused == "Lag" }
    page.key("Enter")
    page.await("#{SORTED} == 'Lag ascending' && #{TITLES}[0] == 'orders 0'")
    page.key("Enter")
    page.await("#{SORTED} == '' && #{TITLES}[0] == 'orders 7'")
    { "Failing" => "orders 7", "Failures" => "orders 4" }.each do |name, title|
      head(page, name)
      page.key("Enter")
      page.await("#{SORTED} == '#{name} descending' && #{TITLES}[0] == '#{title}'")
    end
  end

  def filter(page)
    page.type("[data-filter=partitions]", "orders/1")
    page.await("#{TITLES}.join() == 'orders 10,orders 1,orders 11'")
    said = page.evaluate("document.querySelector('#partitions-part [role=status]').textContent")
    must("say how many match, not #{said}") { said == "3 of 12 partitions, 1 with a problem" }
    hash = page.evaluate("location.hash")
    must("keep it in the address, not #{hash}") do
      hash == "#?partitions-sort=-failures&partitions=orders%2F1"
    end
  end

  # A link for a colleague, who has to log in first.
  def share(browser, page)
    link = page.evaluate("location.href")
    page.evaluate("document.querySelector('.logout button').focus()")
    page.leave { page.key("Enter") }
    other = browser.page
    log_in(other, link)
    other.await("#{TITLES}.join() == 'orders 10,orders 1,orders 11' && " \
                "#{SORTED} == 'Failures descending'")
    page.visit("about:blank")
    page.visit(link)
    page.await("#{TITLES}.length == 3")
  end

  def details(page)
    page.evaluate("document.querySelector('#partitions .toggle').focus()")
    page.key("Enter")
    page.await("document.querySelector('#partitions .under dl')")
    facts = definitions(page, "#partitions .under dl")
    must("define the facts of a partition: #{facts}") do
      facts.values_at("Raised at", "Offset", "Attempt", "Error") ==
        ["app/invoice.rb:12", "41", "3", "KeyError: key not found: :customer"]
    end
    page.evaluate("document.querySelector('#nodes .toggle').click()")
    page.await("document.querySelector('#nodes .under dl dl dl')")
    facts = definitions(page, "#nodes .under dl dl dl")
    must("define the facts inside a node's facts, not #{facts}") { facts == { "rate" => "7" } }
    page.evaluate("[...document.querySelectorAll('#events .toggle')]" \
                  ".find((button) => button.textContent == 'odd').click()")
    page.await("document.querySelector('#events dl dl dl')")
    facts = definitions(page, "#events dl dl dl")
    must("define the facts of an event, not #{facts}") { facts == { "city" => "Bern" } }
  end

  def definitions(page, list)
    page.evaluate("Object.fromEntries([...document.querySelector('#{list}').children]" \
                  ".filter(({ tagName }) => tagName == 'DT')" \
                  ".map((term) => [term.textContent, term.nextSibling.textContent]))")
  end

  # At 12:00 UTC it is 08:30 in Newfoundland, in winter.
  def times(browser, url)
    page = browser.page
    page.zone = "America/St_Johns"
    page.visit(url)
    page.await("document.querySelector('#events time')?.textContent")
    zone = page.evaluate("document.querySelector('#zone').textContent")
    must("name the zone once, not #{zone}") { zone == "times: America/St_Johns (UTC-3:30)" }
    local, title = time(page)
    must("show local times: #{local}, #{title}") do
      seconds(local) == (seconds(title[11, 8]) - (3.5 * 3600)) % 86_400
    end
    age = page.evaluate("document.querySelector('#events .age').textContent")
    must("show the age, not #{age}") { age.match?(/\A\d+ (?:s|min)\z/) }
    page.press("#other-zone")
    page.await("document.querySelector('#zone').textContent == 'times: UTC'")
    utc, title = time(page)
    must("show UTC: #{utc}, #{title}") { utc == title[11, 8] }
    must("keep it in the address") { page.evaluate("location.hash").include?("times=utc") }
  end

  def time(page)
    page.evaluate("(({ textContent, title }) => [textContent, title])" \
                  "(document.querySelector('#events time'))")
  end

  def seconds(clock) = clock.split(":").map(&:to_i).reduce { |sum, part| (sum * 60) + part }

  def phone(browser, url)
    page = browser.page(width: 390, height: 844)
    page.visit(url)
    page.await("#{TITLES}.length == 12")
    places = page.evaluate(<<~SCRIPT)
      ["#state", "#problems", "#nodes tr.trouble", "#partitions tr.trouble", "#actions button"]
        .map((one) => document.querySelector(one).getBoundingClientRect().top)
    SCRIPT
    must("show state, problems and failing rows before the buttons: #{places}") do
      places == places.sort
    end
    wide = page.evaluate("document.documentElement.scrollWidth")
    must("fit a phone, not be #{wide} wide") { wide <= 390 }
    page.evaluate("document.querySelectorAll('main .toggle').forEach((button) => button.click())")
    page.await("document.querySelector('#events dl')")
    small = page.evaluate(SMALL)
    must("have buttons of 44 pixels: #{small}") { small.empty? }
    wide = page.evaluate("document.documentElement.scrollWidth")
    must("fit a phone with details, not be #{wide} wide") { wide <= 390 }
    order = page.evaluate(<<~SCRIPT)
      const select = document.querySelector("#partitions-part select")
      select.value = "-partition"
      select.dispatchEvent(new Event("change"));
      #{TITLES}[0]
    SCRIPT
    must("sort by the select, not begin with #{order}") { order == "orders 11" }
    check_themes(page, "on a phone, with problems and details")
  end
end

IncidentPage.play { look }
