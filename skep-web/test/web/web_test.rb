# frozen_string_literal: true

require "test_helper"
require "rack/lint"
require "rack/mock_request"
require "support/web_visits"

# The page as a Rack application: what it serves, and what it refuses.
class WebTest < Skep::TestCase
  include WebVisits

  test "every response has strict security headers" do
    web = serve
    %w[/ /assets/page.css /assets/scripts/page.js /assets/none /none /threads /event].each do |path|
      _, headers, = get(web, path)
      policy = headers.fetch("content-security-policy")
      assert_match(/default-src 'none'.*frame-ancestors 'none'/, policy)
      refute_match(/unsafe|\*|https?:/, policy)
      assert_equal %w[nosniff DENY], headers.values_at("x-content-type-options", "x-frame-options")
    end
  end

  test "the HTML contains no script, no style and no address of another host" do
    web = serve(user: "ada", password: "secret")
    [get(web, "/"), get(web, "/", cookie: log_in(web))].each do |response|
      html = text(response)
      refute_match(/<style|style=| on\w+=|javascript:/, html)
      refute_match(%r{<script(?! type="module" src="assets/scripts/(?:page|login).js"><)}, html)
      addresses = html.scan(/(?:src|href|action)="([^"]*)"/).flatten
      assert_empty addresses.grep_v(%r{\Aassets/}) - ["", "/", "login", "logout"]
    end
  end

  test "a browser that has a file's newest version gets 304" do
    web = serve
    status, headers, = response = get(web, "/assets/page.css")
    assert_equal [200, "text/css", "no-cache"],
                 [status, *headers.values_at("content-type", "cache-control")]
    assert_operator text(response).bytesize, :>, 1000
    again = get(web, "/assets/page.css", "HTTP_IF_MODIFIED_SINCE" => headers["last-modified"])
    assert_equal [304, "no-cache", ""], [again[0], again[1]["cache-control"], text(again)]
  end

  test "only the files of the page are served" do
    web = serve
    ["/assets/", "/assets/../errors.rb", "/assets/%2e%2e/errors.rb", "/assets/scripts",
     "/templates/page.html", "/page.html", "/assets/\0"].each do |path|
      assert_includes [400, 404], get(web, path)[0], path
    end
  end

  test "a mounted page finds its files, whatever the mount point is called" do
    web = serve
    html = text(get(web, "/", "SCRIPT_NAME" => "/ops/<b>\""))
    assert_includes html, "<base href=\"/ops/&lt;b&gt;&quot;/\">"
    assert_equal 200, get(web, "", "SCRIPT_NAME" => "/ops")[0]
  end

  test "the session of the application that it is mounted in stays as it is" do
    session = { "user_id" => 7 }
    env = { "rack.session" => session, "SCRIPT_NAME" => "/ops" }
    seen = nil
    web = serve { |own| (seen = own["rack.session"]) && nil }
    _, headers, = get(web, "/", **env)
    assert_same session, seen
    assert_equal [{ "user_id" => 7 }, "/ops"], [session, headers["set-cookie"][/path=([^;]+)/i, 1]]
  end

  test "requests and responses are those of Rack's specification" do
    lint = Rack::MockRequest.new(Rack::Lint.new(serve(user: "ada", password: "secret")))
    page = lint.get("/")
    assert_equal 200, page.status
    assert_equal [200, 200], [lint.head("/"), lint.get("/assets/icon.svg")].map(&:status)
    form = { user: "ada", password: "secret", token: page.body[/\h{64}/] }
    cookie = page["set-cookie"][/[^;]+/]
    answers = [lint.post("/login", params: form, "HTTP_COOKIE" => cookie), lint.delete("/"),
               lint.get("/live"), lint.get("/assets/none")]
    assert_equal [303, 405, 401, 404], answers.map(&:status)
  end

  test "more streams than the limit are refused with 503" do
    web = serve
    statuses = Array.new(100) { get(web, "/live", "rack.hijack?" => true)[0] }
    assert_equal({ 200 => 64, 503 => 36 }, statuses.tally)
  end

  test "a request by another host name is refused where host names are given" do
    web = serve(hosts: ["localhost", "[::1]"])
    %w[evil.example evil.example:9393 localhost.evil.example].each do |host|
      assert_equal 403, get(web, "/", "HTTP_HOST" => host)[0]
      forwarded = { "HTTP_X_FORWARDED_HOST" => "localhost", "HTTP_FORWARDED" => "host=localhost" }
      assert_equal 403, get(web, "/", "HTTP_HOST" => host, **forwarded)[0]
    end
    %w[localhost LOCALHOST:1 [::1]:9393 [::1]].each do |host|
      assert_equal 200, get(web, "/", "HTTP_HOST" => host)[0]
    end
  end

  test "a body that is too long, no JSON or badly encoded is refused" do
    web = serve(user: "ada", password: "secret")
    cookie, token = log_in_with_token(web)
    head = { cookie:, "CONTENT_TYPE" => "application/json", "HTTP_X_SKEP_TOKEN" => token }
    json = ->(body) { post(web, "/actions", body, **head)[0] }
    assert_equal [413, 413, 400, 400, 400, 400],
                 ["x" * 5000, "\xFF", "nonsense", "[]", "{}", "{\"command\":{}}"].map(&json)
    assert_equal 400, post(web, "/login", "a=é", cookie:)[0]
  end

  test "a method other than GET, HEAD and POST is refused; HEAD has no body" do
    web = serve
    assert_equal 405, call(web, "DELETE", "/")[0]
    %w[/ /live /assets/page.css].each do |path|
      response = call(web, "HEAD", path, "rack.hijack?" => true)
      assert_equal [200, ""], [response[0], text(response)]
      refute_includes response[1], "rack.hijack"
    end
  end

  test "/threads returns the last hang of a node's status, and 404 for an unknown node or swarm" do
    web = serve
    response = get(web, "/threads", "QUERY_STRING" => "swarm=hive&node=0")
    assert_equal({ "hang" => { "reason" => "hung" }, "asked" => nil }, JSON.parse(text(response)))
    assert_equal 404, get(web, "/threads", "QUERY_STRING" => "swarm=hive&node=9")[0]
    assert_equal 404, get(web, "/threads", "QUERY_STRING" => "swarm=%2Fetc&node=9")[0]
  end

  test "/event refuses an event that isn't kept, and a visitor without the login" do
    query = "swarm=hive&seq=1&time=x"
    assert_equal 404, get(serve, "/event", "QUERY_STRING" => query)[0]
    assert_equal 404, get(serve, "/event", "QUERY_STRING" => "")[0]
    web = serve(user: "ada", password: "secret")
    assert_equal 401, get(web, "/event", "QUERY_STRING" => query)[0]
  end

  test "a missing gem is reported with the gems to install" do
    out, err, status = run_program(<<~RUBY, env: { "RUBYOPT" => "--disable=gems" })
      require "skep"
      begin
        require "skep/web"
      rescue Skep::Web::MissingGem => e
        puts e.message
      end
    RUBY
    assert_equal [true, ""], [status.success?, err]
    assert_match(/\Askep\/web needs the gems rack \(3 or newer\) and rack-session /, out)
    assert_includes out, "`gem install rack rack-session`"
  end
end
