# frozen_string_literal: true

# A handler fails, and its messages are in the dead letter topic. On the page a visitor with a login
# sees them by error, reads three, counts what a replay would do, replays them at a rate once the
# handler is right, and purges the rest. A visitor without one sees them and can do nothing. Without
# a broker the page reports it and continues. Needs a real Kafka, which deletes messages.
require_relative "../kafka/scenario"
require_relative "scenario"

COUNT = 300
BAD = 10
HOSTILE = "<img src=x onerror=hurt()>"
ROWS = "document.querySelectorAll('#dead-topics tbody tr:not(.under)').length"
HEAD = "(document.querySelector('.dead-head .muted')?.textContent ?? '')"
OUTCOME = "document.querySelector('.dead > [role=status]').textContent"
FIELDS = "[...document.querySelectorAll('.filter [name=error], .filter [name=from]')]"
PROBLEM = "document.querySelector('.dead .alarm')"

class DeadLettersPage < KafkaScenario
  include ServedPage
  extend ServedPage::Play

  def self.embedded? = true # `try` skips it: a machine with a browser may have no Kafka

  def try
    skip "SKEP_KAFKA_BROKER, a program that starts a broker" unless Broker::PROGRAM
    swarm = run_swarm_with_dead_letters
    file = "#{swarm.directory}/swarm.rb"
    url = serve(swarm, "--file", file, "--user", "ada", "--password-file", password)
    browse do |browser|
      page = browser.page
      page.visit(url)
      log_in(page, url)
      read_letters(page)
      look_around(browser, page, url)
      replay(page, swarm)
      purge(page)
      refuse_others(page)
      stop_web
      read_only(browser, serve(swarm, "--file", file))
      url = serve(swarm, "--file", file, "--user", "ada", "--password-file", password)
      lose_the_broker(browser.page, url)
      stop_web
    end
  end

  private

  def run_swarm_with_dead_letters
    topic("orders", 2)
    topic("orders.dead", 2)
    swarm = run_swarm(source)
    feed("orders", (0...COUNT - 1).map { |n| [n.to_s, n < BAD - 1 ? HOSTILE : "away", n % 2] })
    swarm.follow("all are dead letters", seconds: 120) do
      swarm.events.count { |event| event["event"] == "dead_lettered" } == COUNT - 1
    end
    swarm
  end

  # The page counts again by itself once there is another one, and an open list shows it. The server
  # reads a topic only after ten times what its last read took.
  def count_the_last(page)
    page.evaluate("[...document.querySelectorAll('.letters + .actions .quiet')].at(-1).click()")
    page.await("document.querySelectorAll('.letter').length == #{3 + BAD - 1}")
    feed("orders", [[(COUNT - 1).to_s, HOSTILE, 1]])
    await_long(page, "#{HEAD}.includes('#{COUNT} letters') && " \
                     "document.querySelectorAll('.letter').length == #{3 + BAD}")
  end

  def await_long(page, expression)
    deadline = Skep::OS.now + Patience.of(120)
    begin
      page.await(expression)
    rescue Browser::Failed
      Skep::OS.now < deadline ? retry : raise
    end
  end

  # By the keyboard: what happens moves the section, and a click might miss.
  def press(page, selector)
    page.evaluate("document.querySelector(#{selector.to_json}).focus()")
    page.key("Enter")
  end

  def read_letters(page)
    page.await("#{ROWS} == 2 && #{HEAD}.includes('#{COUNT - 1} letters')")
    rows = page.evaluate("[...document.querySelectorAll('#dead-topics td.number')]" \
                         ".map((cell) => cell.textContent)")
    must("list both errors, the frequent one first, not #{rows}") { rows == ["290", "9"] }
    press(page, "#dead-topics .toggle")
    page.await("document.querySelectorAll('.letter').length == 3")
    text = page.evaluate("document.querySelector('.letter').textContent")
    must("show origin, error and payload, not #{text}") do
      %w[orders/ IOError Payload away Host].all? { |word| text.include?(word) }
    end
  end

  # The other error's payload is HTML.
  def look_around(browser, page, url)
    press(page, "#dead-topics tbody tr:nth-child(3) .toggle")
    page.await("document.querySelectorAll('.letter').length == 6")
    count_the_last(page)
    must("show HTML as text") { page.evaluate("!document.querySelector('.letter img')") }
    check_themes(page, "with dead letters")
    phone = browser.page(width: 390, height: 844)
    phone.visit(url)
    phone.await("#{ROWS} == 2")
    press(phone, "#dead-topics .toggle")
    phone.await("document.querySelectorAll('.letter').length == 3")
    wide = phone.evaluate("document.documentElement.scrollWidth")
    must("fit a phone, not be #{wide} wide") { wide <= 390 }
    check_themes(phone, "with dead letters on a phone")
  end

  def replay(page, swarm)
    press(page, "#dead-topics .choose")
    must("choose the group's filter") do
      page.evaluate("#{FIELDS}.map((field) => field.value)") == %w[IOError orders]
    end
    press(page, "[data-dead=replay]")
    page.await("#{OUTCOME}.startsWith('Dry run of a replay') && " \
               "#{OUTCOME}.includes('290 replayed, 0 failed, 10 kept')")
    must("change nothing") { lines.empty? }

    File.write("#{swarm.directory}/back", "")
    page.evaluate("document.querySelector('.filter [name=dry_run]').click()")
    page.type(".filter [name=rate]", "200")
    press(page, "[data-dead=replay]")
    page.await("document.querySelector('#ask').open")
    check_themes(page, "with the dialog of a replay")
    page.key("Escape")
    page.await("!document.querySelector('#ask').open")
    must("do nothing yet") { lines.empty? }
    press(page, "[data-dead=replay]")
    page.await("document.querySelector('#ask').open")
    press(page, "#ask-yes")
    follow_replay(page)
  end

  def follow_replay(page)
    page.await("#{OUTCOME}.includes('is running')")
    page.await("#{OUTCOME}.includes('290 replayed, 0 failed, 10 kept, 0 held, 0 unknown')")
    await_keys(COUNT - BAD)
    page.await("#{HEAD}.includes('#{BAD} letters')")
    must("report which user replayed and purged") do
      web_log.include?("skep web: ada sent replay error=\"IOError\" from=\"orders\" rate=200.0 " \
                       "to orders.dead")
    end
  end

  def purge(page)
    page.evaluate("for (const field of #{FIELDS}) field.value = ''")
    press(page, "[data-dead=purge]")
    page.await("document.querySelector('#ask').open")
    question = page.evaluate("document.querySelector('#ask-text').textContent")
    must("ask what it will do, not #{question}") do
      question == "Deletes all letters of orders.dead, for good."
    end
    check_themes(page, "with the dialog of a purge")
    press(page, "#ask-yes")
    page.await("#{OUTCOME}.includes('10 deleted, 0 kept')")
    page.await("#{HEAD}.includes('No letters')")
    left = [0, 1].sum { |number| read_offsets(number) }
    must("leave an empty topic, not #{left} letters") { left.zero? }
  end

  # Without the login, and without the page's token.
  def refuse_others(page)
    body = { topic: "orders.dead", action: "purge" }.to_json
    statuses = ["omit", "include"].map do |credentials|
      page.evaluate(<<~SCRIPT)
        fetch("dead_letters", { method: "POST", credentials: "#{credentials}", body: '#{body}',
                                headers: { "content-type": "application/json" } }).then((answer) => answer.status)
      SCRIPT
    end
    list = page.evaluate("fetch('dead_letters', { credentials: 'omit' })" \
                         ".then((answer) => answer.status)")
    must("refuse them, not answer #{statuses}, #{list}") { [statuses, list] == [[403, 403], 401] }
    errors = page.errors.grep_v(/status of 40[13]/)
    must("load and run only its own files: #{errors}") { errors.empty? }
  end

  # A visitor without the permission to act.
  def read_only(browser, url)
    feed("orders.dead", [["k", "\xFF\x00".b, 0]])
    page = browser.page
    page.visit(url)
    page.await("#{ROWS} == 1 && #{HEAD}.includes('1 letter,')")
    must("show no button") { page.evaluate("!document.querySelector('.filter')") }
    status = page.evaluate(<<~SCRIPT)
      fetch("dead_letters", { method: "POST", body: '{"topic":"orders.dead","action":"purge"}',
        headers: { "content-type": "application/json",
                   "x-skep-token": document.querySelector("meta[name=skep-token]").content } }).then((answer) => answer.status)
    SCRIPT
    must("refuse a command, not answer #{status}") { status == 403 }
    check_themes(page, "for a reader")
    stop_web
  end

  def lose_the_broker(page, url)
    log_in(page, url)
    page.await("#{HEAD}.includes('1 letter,')")
    broker.kill
    press(page, ".dead-head button")
    page.await("!#{PROBLEM}.hidden && #{PROBLEM}.textContent.startsWith('No broker of')")
    check_themes(page, "without a broker")
    must("continue") { page.evaluate("document.querySelector('#live').textContent") == "live" }
  end

  def read_offsets(number)
    consumer = rdkafka_consumer("orders.dead", number)
    first, last = consumer.query_watermark_offsets("orders.dead", number)
    last - first
  ensure
    consumer&.close
  end

  def source
    <<~RUBY
      require "skep/kafka"
      source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "#{broker.address}" },
                                       group: "readers", topics: "orders", max_attempts: 1,
                                       retry_for: nil, dead_letter_topic: "orders.dead",
                                       max_messages: 1)
      Skep.swarm "readers", nodes: 1 do |swarm|
        swarm.work(source) do |batch, _|
          batch.each do |message|
            raise ArgumentError, message.payload unless message.payload == "away"
            raise IOError, "the shop doesn't answer" unless File.exist?("\#{__dir__}/back")

            File.write("#{file}", "\#{message.partition} \#{message.key}\\n", mode: "a")
          end
        end
      end
    RUBY
  end
end

DeadLettersPage.play { try }
