# frozen_string_literal: true

require "test_helper"
require "support/web_visits"

# How many wrong passwords the page accepts, and by which key it counts them.
class WebLoginThrottleTest < Skep::TestCase
  include WebVisits

  test "after five wrong passwords a name has to wait, but not from another address" do
    web = serve(user: "ada", password: "secret")
    cookie, token = enter(web)
    guess = ->(word) { post(web, "/login", "user=ada&password=#{word}&token=#{token}", cookie:)[0] }
    assert_equal [401] * 5 + [429], (1..6).map { |number| guess.call("secret#{number}") }
    assert_equal 429, guess.call("secret")
    elsewhere = post(web, "/login", "user=ada&password=secret&token=#{token}", cookie:,
                     "REMOTE_ADDR" => "192.0.2.7")
    assert_equal 303, elsewhere[0]
  end

  test "behind trusted proxies the address is the last one that no proxy has" do
    web = serve(user: "ada", password: "secret", proxies: ["127.0.0.1", "10.0.0.0/8"])
    cookie, token = enter(web)
    guess = lambda do |user, word, from, remote = "127.0.0.1"|
      post(web, "/login", "user=#{user}&password=#{word}&token=#{token}", cookie:,
           "HTTP_X_FORWARDED_FOR" => from, "REMOTE_ADDR" => remote,
           "HTTP_FORWARDED" => "for=203.0.113.#{rand(200)}")[0]
    end
    6.times { |n| guess.call("ada", "wrong", "203.0.113.#{n}, 192.0.2.66, 10.1.1.1") }
    assert_equal 429, guess.call("ada", "secret", "203.0.113.9, 192.0.2.66:4711")
    assert_equal 303, guess.call("ada", "secret", "192.0.2.66, 192.0.2.7")
    6.times { guess.call("eve", "wrong", "192.0.2.7") }
    assert_equal 303, guess.call("ada", "secret", "192.0.2.7")
    6.times { |n| guess.call("ada", "wrong", "192.0.2.#{n}", "198.51.100.1") }
    assert_equal 429, guess.call("ada", "secret", "192.0.2.9", "198.51.100.1")
  end

  test "without trusted proxies X-Forwarded-For is ignored" do
    ["127.0.0.1", ""].each do |remote| # "": a UNIX socket
      web = serve(user: "ada", password: "secret")
      cookie, token = enter(web)
      statuses = Array.new(6) do |n|
        post(web, "/login", "user=ada&password=wrong&token=#{token}", cookie:,
             "HTTP_X_FORWARDED_FOR" => "192.0.2.#{n}", "REMOTE_ADDR" => remote)[0]
      end
      assert_equal 429, statuses.last
    end
  end

  test "a proxy that is no address is refused" do
    assert_raises(ArgumentError) { serve(proxies: ["proxy.example.com"]) }
  end

  test "a browser in which the user has logged in before has a count of its own" do
    web = serve(user: "ada", password: "secret")
    cookie = log_in(web)
    known = get(web, "/", cookie:)[1]["set-cookie"]
    assert_match(/\Aknown_skep_web9393=.*; max-age=\d+;.* httponly; samesite=lax\z/i, known)
    both = "#{cookie}; #{known = known[/[^;]+/]}"
    assert_nil get(web, "/", cookie: both)[1]["set-cookie"]
    fresh, token = enter(web)
    6.times { post(web, "/login", "user=ada&password=wrong&token=#{token}", cookie: fresh) }
    try = lambda do |word, jar, name = "ada"|
      post(web, "/login", "user=#{name}&password=#{word}&token=#{token}",
           cookie: "#{fresh}; #{jar}")[0]
    end
    assert_equal [429, 429, 303], [try.call("secret", "a=b"), try.call("secret", known.chop),
                                   try.call("secret", known)]
    assert_equal 401, get(web, "/threads", cookie: known)[0]
    assert_equal [401] * 5 + [429], Array.new(6) { try.call("wrong", known) }
  end

  test "many other keys release no key that has to wait" do
    throttle = Skep::Web::Auth::LoginThrottle.new
    5.times { throttle.failed("ada", 1.0) }
    12_000.times { |n| throttle.failed("name #{n}", 2.0) }
    assert throttle.exhausted?("ada", 3.0)
    refute throttle.exhausted?("ada", 62.0)
  end
end
