# frozen_string_literal: true

require "test_helper"
require "support/web_visits"

# Which visitors may look, and which may act.
class WebAuthenticationTest < Skep::TestCase
  include WebVisits

  test "without a password every visitor may look, and no visitor may act" do
    web = serve
    cookie, token = enter(web)
    assert_includes text(get(web, "/")), 'name="skep-acts" content="false"'
    assert_equal 403, act(web, "stop", cookie:, token:)[0]
    assert_empty received
    assert_equal 404, post(web, "/login", "token=#{token}", cookie:)[0]
  end

  test "the application's block decides which visitors may act" do
    web = serve { |env| env["REMOTE_USER"] }
    cookie, token = enter(web)
    assert_equal 403, act(web, "quiet", cookie:, token:)[0]
    assert_equal 200, act(web, "quiet", cookie:, token:, "REMOTE_USER" => "grace")[0]
    assert_includes text(get(web, "/", "REMOTE_USER" => "<i>")), "&lt;i&gt;"
  end

  test "a name from the application's block is one line of UTF-8, in the log and on the page" do
    web = serve { |env| env["REMOTE_USER"] }
    cookie, token = enter(web)
    log = StringIO.new
    act(web, "quiet", cookie:, token:, "REMOTE_USER" => "J\xFC\nforged".b, "rack.errors" => log)
    assert_equal 1, log.string.lines.size
    assert_includes log.string, "J\uFFFD forged sent quiet"
    assert_includes text(get(web, "/", "REMOTE_USER" => "J\xFC".b)), "J\uFFFD"
  end

  test "inspect shows neither the password nor a key" do
    shown = Skep::Web.new(user: "ada", password: "hunter2", secret: "k" * 64).inspect
    refute_match(/hunter2|kkkk/, shown)
  end

  test "with a password a visitor without a session sees the login form only" do
    web = serve(user: "ada", password: "secret")
    assert_match(/type="password"/, text(get(web, "/")))
    assert_equal [401, 401], %w[/live /threads].map { |path| get(web, path)[0] }
    cookie, token = enter(web)
    assert_equal 403, act(web, "stop", cookie:, token:)[0]
    assert_empty received
  end

  test "a login needs the right name and password" do
    web = serve(user: "ada", password: "secret")
    cookie, token = enter(web)
    ["user=ada&password=Secret", "user=eve&password=secret", "user=ada", ""].each do |form|
      assert_equal 401, post(web, "/login", "#{form}&token=#{token}", cookie:)[0]
    end
    response = post(web, "/login", "user=ada&password=secret&token=#{token}", cookie:)
    assert_equal [303, "/"], [response[0], response[1]["location"]]
    assert_match(/; httponly; samesite=lax\z/i, response[1]["set-cookie"])
    assert_match(/Log out/, text(get(web, "/", cookie: cookie_of(response))))
  end

  test "the cookie is Secure where the request was made over TLS" do
    web = serve
    [{ "rack.url_scheme" => "https" }, { "HTTP_X_FORWARDED_PROTO" => "https" }].each do |env|
      assert_match(/; secure;/i, get(web, "/", **env)[1]["set-cookie"])
    end
    refute_match(/secure/i, get(web, "/")[1]["set-cookie"])
  end

  test "a forged cookie, and one of another server, is ignored" do
    web = serve(user: "ada", password: "secret")
    cookie = log_in(web)
    forged = [cookie.sub("=", "=A"), cookie.chop, cookie.sub("=", "=%00"), "skep_web9393=",
              "skep_web9393", "skep_web9393=\xFF", log_in(serve(user: "ada", password: "secret"))]
    forged.each { |one| assert_equal 401, get(web, "/threads", cookie: one)[0] }
    shared = Array.new(2) { serve(user: "ada", password: "secret", secret: "s" * 32) }
    assert_equal 404, get(shared[0], "/threads", cookie: log_in(shared[1]))[0]
  end

  test "a log-out ends the session on the server" do
    web = serve(user: "ada", password: "secret")
    cookie, token = log_in_with_token(web)
    assert_equal 403, post(web, "/logout", "token=x", cookie:)[0]
    response = post(web, "/logout", "token=#{token}", cookie:)
    assert_equal [303, "skep_web9393="], [response[0], cookie_of(response)]
    assert_equal 401, get(web, "/threads", cookie:)[0]
    assert_equal 403, act(web, "stop", cookie:, token:)[0]
    assert_includes text(get(web, "/", cookie:)), "password"
    assert_empty received
    assert_equal 404, get(web, "/threads", cookie: log_in(web))[0]
  end

  test "user: and password: are needed together" do
    assert_raises(ArgumentError) { Skep::Web.new(user: "ada") }
    assert_raises(ArgumentError) { Skep::Web.new(user: "ada", password: "") }
  end
end
