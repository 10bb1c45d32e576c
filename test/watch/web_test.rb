# frozen_string_literal: true

require "test_helper"
require "support/web_visits"

# The page as a Rack application: who sees what, who may do what.
class WebTest < Skep::TestCase
  include WebVisits

  test "is strict with browsers, whatever it answers" do
    web = serve
    %w[/ /page.css /page.js /nothing /threads].each do |path|
      _, headers, = get(web, path)
      policy = headers.fetch("content-security-policy")
      assert_match(/default-src 'none'.*frame-ancestors 'none'/, policy)
      refute_match(/unsafe|\*|https?:/, policy)
      assert_equal %w[nosniff DENY], headers.values_at("x-content-type-options", "x-frame-options")
    end
  end

  test "has nothing in its HTML that would run, and loads its own files only" do
    web = serve(user: "ada", password: "secret")
    [get(web, "/"), get(web, "/", cookie: log_in(web))].each do |_, _, (html)|
      refute_match(/<style|style=| on\w+=|javascript:/, html)
      refute_match(/<script(?! type="module" src="page.js"><)/, html)
      addresses = html.scan(/(?:src|href|action)="([^"]*)"/).flatten
      assert_empty addresses - ["", "/", "icon.svg", "page.css", "page.js", "login", "logout"]
    end
  end

  test "is small, and a browser's copy of it stays good" do
    web = serve
    bytes = %w[/ /page.css /page.js /icon.svg].sum { |path| get(web, path)[2].sum(&:bytesize) }
    assert_operator bytes, :<, 40_000
    status, headers, = get(web, "/page.css")
    again = get(web, "/page.css", "HTTP_IF_NONE_MATCH" => headers["etag"])
    assert_equal [200, 304, []], [status, again[0], again[2]]
  end

  test "knows where it is mounted, whatever that place is called" do
    web = serve
    html = get(web, "/", "SCRIPT_NAME" => "/ops/<b>\"").last.join
    assert_includes html, "<base href=\"/ops/&lt;b&gt;&quot;/\">"
    assert_equal 200, get(web, "", "SCRIPT_NAME" => "/ops")[0]
  end

  test "is for looking only, unless a password or a block allows more" do
    web = serve
    cookie, token = enter(web)
    assert_includes get(web, "/")[2].join, 'name="skep-acts" content="false"'
    assert_equal 403, deed(web, "stop", cookie:, token:)[0]
    assert_empty asked
    assert_equal 404, post(web, "/login", "token=#{token}", cookie:)[0]
  end

  test "shows nothing to who hasn't logged in" do
    web = serve(user: "ada", password: "secret")
    assert_match(/type="password"/, get(web, "/")[2].join)
    assert_equal [401, 401], %w[/live /threads].map { |path| get(web, path)[0] }
    cookie, token = enter(web)
    assert_equal 403, deed(web, "stop", cookie:, token:)[0]
    assert_empty asked
  end

  test "lets in who knows the password, and nobody else" do
    web = serve(user: "ada", password: "secret")
    cookie, token = enter(web)
    ["user=ada&password=Secret", "user=eve&password=secret", "user=ada", ""].each do |form|
      assert_equal 401, post(web, "/login", "#{form}&token=#{token}", cookie:)[0]
    end
    status, headers, = post(web, "/login", "user=ada&password=secret&token=#{token}", cookie:)
    assert_equal [303, "/"], [status, headers["location"]]
    assert_match(/HttpOnly; SameSite=Lax\z/, headers["set-cookie"])
    assert_match(/Log out/, get(web, "/", cookie: headers["set-cookie"][/[^;]+/])[2].join)
  end

  test "makes who guesses wait" do
    web = serve(user: "ada", password: "secret")
    cookie, token = enter(web)
    guess = ->(word) { post(web, "/login", "user=ada&password=#{word}&token=#{token}", cookie:)[0] }
    assert_equal [401] * 5 + [429], (1..6).map { |number| guess.call("secret#{number}") }
    assert_equal 429, guess.call("secret")
    there = post(web, "/login", "user=ada&password=secret&token=#{token}", cookie:,
                 "REMOTE_ADDR" => "192.0.2.7")
    assert_equal 303, there[0]
  end

  test "steers the swarm for who has logged in, and tells who it was" do
    web = serve(user: "ada", password: "secret")
    cookie = log_in(web)
    token = token_of(get(web, "/", cookie:))
    errors = StringIO.new
    answer = deed(web, "scale", { nodes: 6 }, cookie:, token:, "rack.errors" => errors)
    assert_equal [200, { "v" => 1, "done" => "scale" }], [answer[0], JSON.parse(answer[2].join)]
    assert_equal [{ "v" => 1, "command" => "scale", "nodes" => 6 }], asked
    assert_equal "skep web: ada asked of hive: scale 6\n", errors.string
  end

  test "passes on why a swarm refuses" do
    web = serve(user: "ada", password: "secret")
    cookie = log_in(web)
    token = token_of(get(web, "/", cookie:))
    assert_equal [409, "no\n"], deed(web, "reload", cookie:, token:).values_at(0, 2).flatten
    assert_equal 400, deed(web, "chaos", cookie:, token:)[0]
    ["x", "../hive", nil, 1].each do |swarm|
      assert_equal 404, deed(web, "stop", { swarm: }, cookie:, token:)[0]
    end
  end

  test "does nothing that another site asks for" do
    web = serve(user: "ada", password: "secret")
    cookie = log_in(web)
    token = token_of(get(web, "/", cookie:))
    foreign = [{ "HTTP_SEC_FETCH_SITE" => "cross-site" }, { "HTTP_SEC_FETCH_SITE" => "same-site" },
               { "HTTP_ORIGIN" => "https://evil.example" }, { "HTTP_ORIGIN" => "null" }]
    foreign.each { |from| assert_equal 403, deed(web, "stop", cookie:, token:, **from)[0] }
    others = token_of(get(web, "/", cookie: log_in(web)))
    [nil, "", "x", others].each do |bad|
      assert_equal 403, deed(web, "stop", cookie:, token: bad)[0]
    end
    assert_empty asked
    ours = { "HTTP_ORIGIN" => "http://localhost:9393" }
    assert_equal 200, deed(web, "stop", cookie:, token:, **ours)[0]
  end

  test "knows its own cookies only" do
    web = serve(user: "ada", password: "secret")
    cookie = log_in(web)
    forged = [cookie.sub("~", "~0"), cookie.chop, cookie.sub("=", "=x"), "skep_web9393=~",
              "skep_web9393", log_in(serve(user: "ada", password: "secret"))]
    forged.each { |one| assert_equal 401, get(web, "/threads", cookie: one)[0] }
    shared = Array.new(2) { serve(user: "ada", password: "secret", secret: "s" * 32) }
    assert_equal 404, get(shared[0], "/threads", cookie: log_in(shared[1]))[0]
  end

  test "forgets who logs out" do
    web = serve(user: "ada", password: "secret")
    cookie = log_in(web)
    token = token_of(get(web, "/", cookie:))
    assert_equal 403, post(web, "/logout", "token=x", cookie:)[0]
    status, headers, = post(web, "/logout", "token=#{token}", cookie:)
    assert_equal [303, "skep_web9393="], [status, headers["set-cookie"][/[^;]+/]]
    assert_equal 401, get(web, "/threads", cookie:)[0]
    assert_equal 403, deed(web, "stop", cookie:, token:)[0]
    assert_includes get(web, "/", cookie:)[2].join, "password"
    assert_empty asked
    other = log_in(web)
    assert_equal 404, get(web, "/threads", cookie: other)[0]
  end

  test "counts wrong passwords by name and address, behind proxies that are trusted" do
    web = serve(user: "ada", password: "secret", proxies: ["127.0.0.1", "10.0.0.0/8"])
    cookie, token = enter(web)
    guess = lambda do |user, word, from, remote = "127.0.0.1"|
      post(web, "/login", "user=#{user}&password=#{word}&token=#{token}", cookie:,
           "HTTP_X_FORWARDED_FOR" => from, "REMOTE_ADDR" => remote)[0]
    end
    6.times { |n| guess.call("ada", "wrong", "203.0.113.#{n}, 192.0.2.66, 10.1.1.1") }
    assert_equal 429, guess.call("ada", "secret", "203.0.113.9, 192.0.2.66:4711")
    assert_equal 303, guess.call("ada", "secret", "192.0.2.66, 192.0.2.7")
    6.times { guess.call("eve", "wrong", "192.0.2.7") }
    assert_equal 303, guess.call("ada", "secret", "192.0.2.7")
    6.times { |n| guess.call("ada", "wrong", "192.0.2.#{n}", "198.51.100.1") }
    assert_equal 429, guess.call("ada", "secret", "192.0.2.9", "198.51.100.1")
  end

  test "believes no X-Forwarded-For unless it is told of a proxy" do
    web = serve(user: "ada", password: "secret")
    cookie, token = enter(web)
    answers = Array.new(6) do |n|
      post(web, "/login", "user=ada&password=wrong&token=#{token}", cookie:,
           "HTTP_X_FORWARDED_FOR" => "192.0.2.#{n}")[0]
    end
    assert_equal 429, answers.last
    assert_raises(ArgumentError) { serve(proxies: ["proxy.example.com"]) }
  end

  test "keeps nobody out who has logged in with that browser before, whoever guesses beside him" do
    web = serve(user: "ada", password: "secret")
    cookie = log_in(web)
    known = get(web, "/", cookie:)[1]["set-cookie"]
    assert_match(/\Aknown_skep_web9393=.*; Max-Age=\d+; HttpOnly; SameSite=Lax\z/, known)
    both = "#{cookie}; #{known = known[/[^;]+/]}"
    assert_nil get(web, "/", cookie: both)[1]["set-cookie"]
    stranger, token = enter(web)
    6.times { post(web, "/login", "user=ada&password=wrong&token=#{token}", cookie: stranger) }
    try = lambda do |word, jar, name = "ada"|
      post(web, "/login", "user=#{name}&password=#{word}&token=#{token}",
           cookie: "#{stranger}; #{jar}")[0]
    end
    assert_equal [429, 429, 303], [try.call("secret", "a=b"), try.call("secret", known.chop),
                                   try.call("secret", known)]
    assert_equal 401, get(web, "/threads", cookie: known)[0]
    assert_equal [401] * 5 + [429], Array.new(6) { try.call("wrong", known) }
  end

  test "gives no more places than there are, to however many who ask at once" do
    web = serve
    answers = Array.new(100) { get(web, "/live", "rack.hijack?" => true)[0] }
    assert_equal({ 200 => 64, 503 => 36 }, answers.tally)
  end

  test "asks the application it is mounted in who may act" do
    web = serve { |env| env["REMOTE_USER"] }
    cookie, token = enter(web)
    assert_equal 403, deed(web, "quiet", cookie:, token:)[0]
    assert_equal 200, deed(web, "quiet", cookie:, token:, "REMOTE_USER" => "grace")[0]
    assert_includes get(web, "/", "REMOTE_USER" => "<i>")[2].join, "&lt;i&gt;"
  end

  test "answers to its own names only, where it is told them" do
    web = serve(hosts: ["localhost", "[::1]"])
    %w[evil.example evil.example:9393 localhost.evil.example].each do |host|
      assert_equal 403, get(web, "/", "HTTP_HOST" => host)[0]
    end
    %w[localhost LOCALHOST:1 [::1]:9393 [::1]].each do |host|
      assert_equal 200, get(web, "/", "HTTP_HOST" => host)[0]
    end
  end

  test "takes no more than it needs" do
    web = serve(user: "ada", password: "secret")
    cookie = log_in(web)
    token = token_of(get(web, "/", cookie:))
    head = { cookie:, "CONTENT_TYPE" => "application/json", "HTTP_X_SKEP_TOKEN" => token }
    json = ->(body) { post(web, "/deeds", body, **head)[0] }
    assert_equal [413, 413, 400, 400, 400, 400],
                 ["x" * 5000, "\xFF", "nonsense", "[]", "{}", "{\"command\":{}}"].map(&json)
    assert_equal 400, post(web, "/login", "a=é", cookie:)[0]
    assert_equal 405, call(web, "DELETE", "/")[0]
    assert_equal [200, []], call(web, "HEAD", "/", cookie:).values_at(0, 2)
  end

  test "shows what a node did when it hung, as its status tells" do
    web = serve
    answer = get(web, "/threads", "QUERY_STRING" => "swarm=hive&node=0")
    assert_equal({ "hang" => { "why" => "hung" }, "asked" => nil }, JSON.parse(answer[2].join))
    assert_equal 404, get(web, "/threads", "QUERY_STRING" => "swarm=hive&node=9")[0]
    assert_equal 404, get(web, "/threads", "QUERY_STRING" => "swarm=%2Fetc&node=9")[0]
  end

  test "wants a name and a password, or neither" do
    assert_raises(ArgumentError) { Skep::Web.new(user: "ada") }
    assert_raises(ArgumentError) { Skep::Web.new(user: "ada", password: "") }
  end
end
