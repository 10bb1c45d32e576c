# frozen_string_literal: true

require "kafka/support/kafka_case"
require "support/web_visits"

# The page's dead letters, as requests: what they start, and what they get. The embedded broker
# deletes no records: the scenario dead_letters_are_replayed_on_the_page replays on a real one.
class WebDeadLettersTest < KafkaCase
  include WebVisits

  NOWHERE = { "bootstrap.servers" => "127.0.0.1:1", "sasl.password" => "hunter2" }.freeze
  private_constant :NOWHERE

  test "a topic is listed by error and origin, in the background" do
    web = serve_letters(["1", "IOError: away"], ["2", "IOError: closed"], ["3", "Shop::Late: no"])
    assert_equal [200, { "topic" => "dead", "reading" => true }], json(ask(web, "topic=dead"))
    facts = listed(web)
    groups = facts["list"]["groups"].map { |group| group.values_at("error", "from", "count") }
    assert_equal [["IOError", "orders", 2], ["Shop::Late", "orders", 1]], groups
    assert_equal [3, 0], facts["list"].values_at("letters", "more")
    _, all = json(ask(web))
    assert_equal [["dead", 3, nil]], (all["topics"].map do |one|
      [one["topic"], one["list"]["letters"], one["list"]["groups"]]
    end)
  end

  test "a list is read again when it is older than the page wants it" do
    web = serve_letters(["1", "IOError: away"])
    listed(web)
    write(["2", "IOError: away"])
    assert_equal 1, listed(web)["list"]["letters"]
    await { listed(web, "max_age=0")["list"]["letters"] == 2 }
  end

  test "a topic that takes long to read is read again only after ten times that" do
    web = serve_letters(*Array.new(10_000) { |n| [n.to_s, "IOError: away"] })
    listed(web)
    asked_at = Skep::OS.now
    first = json(ask(web, "topic=dead&max_age=1000"))[1]["list"]
    await { listed(web, "max_age=0")["list"]["took"] != first["took"] }
    again = json(ask(web, "topic=dead&max_age=1000"))[1]["list"]
    ended_at = asked_at - first["ago"] # or later
    began_at = Skep::OS.now - again["ago"] - again["took"] # or earlier
    assert_operator began_at - ended_at, :>=, 10 * first["took"]
  end

  test "of more than 200 groups the most frequent are listed, and the others counted" do
    rows = Array.new(203) { |n| [n.to_s, "Error#{n}: no"] }
    list = listed(serve_letters(*rows, ["k", "Error77: no"]))["list"]
    assert_equal [204, 3, 200], [*list.values_at("letters", "more"), list["groups"].size]
    assert_equal ["Error77", 2], list["groups"].first.values_at("error", "count")
  end

  test "letters that fit are shown, a payload of bytes in base64" do
    web = serve_letters(["1", "IOError: away"], ["2", "IOError: closed", "\xFF".b], ["3", nil])
    shown = letters(web, "error=closed&from=orders")
    assert_equal [%w[2 /w==]],
                 (shown["letters"].map { |one| one.values_at("key", "payload_base64") })
    assert_equal %w[3], letters(web, "key=3")["letters"].map { |one| one["key"] }
    assert_equal 2, letters(web, "limit=2")["letters"].size
    wrong = %w[topic=dead&limit=51 topic=dead&limit=x topic=dead&limit=0 topic=nosuch x]
    assert_equal [400, 400, 400, 404, 404],
                 (wrong.map { |query| ask(web, query, "/messages")[0] })
  end

  test "a dry run counts; the log names its user" do
    web = serve_letters(["1", "IOError: away"], ["2", "Shop::Late: no"], ["3", nil])
    errors = StringIO.new
    status, about = json(command(web, { action: "replay", error: "IOError", dry_run: true },
                                 "rack.errors" => errors))
    assert_equal [202, "ada", true], [status, *about.values_at("by", "dry_run")]
    assert_equal({ "replayed" => 1, "failed" => 0, "kept" => 2, "held" => 0, "unknown" => 0 },
                 ended(web)["counts"])
    assert_equal about["id"], ended(web)["id"]
    command(web, { action: "purge", dry_run: true })
    assert_equal({ "deleted" => 2, "kept" => 0, "unknown" => 1 }, ended(web)["counts"])
    assert_equal "skep web: ada sent replay error=\"IOError\" dry_run to dead\n", errors.string
  end

  test "what the brokers refuse becomes a sentence, and the page continues" do
    web = serve_letters(["1", "IOError: away"])
    command(web, { action: "replay" })
    refused = /can't be deleted .* Nothing was written: the embedded broker can't/
    assert_match(refused, ended(web)["failure"])
    assert_equal 1, listed(web)["list"]["letters"]
  end

  test "a second command for a topic gets 409 while the first runs; reads and others continue" do
    web = serve_letters(["1", "IOError: away"], more: { "away" => NOWHERE })
    assert_equal 202, command(web, { topic: "away", action: "purge" })[0]
    response = command(web, { topic: "away", action: "replay" })
    assert_equal [409, "A purge of away is running: wait for its end, and try again\n"],
                 [response[0], text(response)]
    command(web, { action: "purge", dry_run: true })
    assert_equal({ "deleted" => 1, "kept" => 0, "unknown" => 0 }, ended(web)["counts"])
    assert_equal 1, listed(web)["list"]["letters"]
    assert_takes(0, most: 8) { web.close }
    dead_letters = web.instance_variable_get(:@dead_letters)
    refute_includes "#{text(ask(web))} #{dead_letters.inspect}", "hunter2"
  end

  test "in a forked child the page does what it did in its parent" do
    web = serve_letters(["1", "IOError: away"])
    listed(web)
    purge = { action: "purge", dry_run: true }
    command(web, purge)
    ended(web)
    pid, reader = in_child do |writer|
      list = listed(web, "max_age=0")["list"]
      status, = command(web, purge)
      writer.puts(JSON.generate([list["letters"], status, ended(web)["counts"]["deleted"]]))
      web.close
    end
    assert_equal [1, 202, 1], JSON.parse(wait_readable(reader).gets)
    Process.wait(pid)
    assert_equal 202, command(web, purge)[0]
  end

  test "too many reads at a time are refused" do
    web = serve_letters(["1", "IOError: away"], more: { "away" => NOWHERE })
    statuses = Array.new(6) { |n| ask(web, "topic=away&key=#{n}", "/messages")[0] }
    assert_equal [202, 202, 202, 202, 503, 503], statuses
  end

  test "a visitor without a login sees nothing, and one without permission sends nothing" do
    web = serve_letters(["1", "IOError: away"])
    ["", "/messages"].each do |path|
      assert_equal 401, ask(web, "topic=dead", path, cookie: nil)[0]
    end
    assert_equal 403, command(web, { action: "purge" }, cookie: enter(web).first)[0]
    assert_equal 403, command(web, { action: "purge" }, token: "x")[0]
    foreign = { "HTTP_SEC_FETCH_SITE" => "cross-site" }
    assert_equal 403, command(web, { action: "purge" }, **foreign)[0]

    reader = serve(dead_letters: { "dead" => @broker.settings })
    cookie, token = enter(reader)
    assert_equal 200, ask(reader, cookie:)[0]
    response = command(reader, { action: "purge" }, cookie:, token:)
    assert_equal [403, "this page is read-only\n"], [response[0], text(response)]
  end

  test "a wrong command gets 400, a topic of no page 404" do
    web = serve_letters
    wrong = [{ action: "x" }, { action: "purge", dryrun: true }, { topic: "x", action: "purge" },
             { topic: { a: 1 }, action: "purge" }]
    assert_equal [400, 400, 404, 404], (wrong.map { |facts| command(web, facts)[0] })
  end

  test "a page without dead letter topics has no such section, and no such address" do
    [serve, serve(dead_letters: {})].each do |web|
      refute_match(/dead.letters/i, text(get(web, "/")))
      assert_equal [404, 404], (["", "/messages"].map { |path| ask(web, "", path)[0] })
      assert_equal 404, command(web, { action: "purge" }, cookie: nil, token: nil)[0]
    end
    broker(dead: 1)
    html = text(get(serve(dead_letters: { dead: @broker.settings }), "/"))
    assert_match(/<section id="dead-letters"/, html)
    refute_includes html, "{"
  end

  test "a wrong value raises ArgumentError in the caller's line, without a secret" do
    good = { "bootstrap.servers": "127.0.0.1:1", "sasl.password": "hunter2" }
    { [] => /must be topics with the settings/, { "dead" => nil } => /must be topics with/,
      { "de ad" => good } => /"de ad" isn't the name of a topic/,
      { "dead" => {} } => /dead: kafka: bootstrap.servers is missing/,
      { "dead" => { **good, "nosuch.setting": "1" } } => /dead: kafka: .*nosuch\.setting/
    }.each do |given, sentence|
      error = assert_raises(ArgumentError) { Skep::Web.new(dead_letters: given) }
      assert_match sentence, error.message
      refute_includes error.message, "hunter2"
      assert_match(/\A#{Regexp.escape(__FILE__)}:#{__LINE__ - 3}:/, error.backtrace.first)
    end
  end

  test "skep/kafka is loaded for dead letters only" do
    out, err, status = run_program(<<~RUBY, gems: true)
      require "skep/web"
      Skep::Web.new.close
      print Skep.const_defined?("Kafka::Source")
      Skep::Web.new(dead_letters: { dead: { "bootstrap.servers": "127.0.0.1:1" } }).close
      print Skep.const_defined?("Kafka::Source")
    RUBY
    assert_equal ["falsetrue", "", true], [out, err, status.success?]
  end

  private

  def serve_letters(*rows, more: {})
    broker(dead: 1, orders: 2)
    write(*rows) if rows.any?
    topics = { "dead" => @broker.settings, **more }
    web = serve(user: "ada", password: "secret", dead_letters: topics)
    @cookie, @token = log_in_with_token(web)
    web
  end

  # Letters of [key, error, payload]; without an error they aren't skep's.
  def write(*rows)
    producer = Skep::Kafka::Producer.new(@broker.settings)
    rows.each do |key, error, payload|
      own = { "skep.topic" => "orders", "skep.partition" => "1", "skep.offset" => "7",
              "skep.error" => error }
      producer.produce("dead", payload || "payload", key:, headers: error ? own : {})
    end
    producer.close
  end

  def ask(web, query = "", path = "", cookie: @cookie)
    get(web, "/dead_letters#{path}", cookie:, "QUERY_STRING" => query)
  end

  def command(web, facts, cookie: @cookie, token: @token, **env)
    head = { "CONTENT_TYPE" => "application/json", "HTTP_X_SKEP_TOKEN" => token }.compact
    post(web, "/dead_letters", JSON.generate({ topic: "dead", **facts }), cookie:, **head, **env)
  end

  def json(response) = [response[0], JSON.parse(text(response))]

  # The facts of the topic once its list is read.
  def listed(web, more = "")
    await do
      _, facts = json(ask(web, "topic=dead&#{more}"))
      facts unless facts["reading"]
    end
  end

  def letters(web, query)
    await do
      status, facts = json(ask(web, "topic=dead&#{query}", "/messages"))
      facts if status == 200
    end
  end

  def ended(web)
    await do
      _, facts = json(ask(web, "topic=dead"))
      facts["command"] unless facts["command"]["running"]
    end
  end

  def await
    by = deadline(Patience.of(20))
    until (found = yield)
      flunk "it takes too long" if seconds_until(by).zero?
      IO.select(nil, nil, nil, 0.01)
    end
    found
  end
end
