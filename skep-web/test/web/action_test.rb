# frozen_string_literal: true

require "test_helper"
require "support/web_visits"

# The buttons of the page, as the requests that they send.
class WebActionTest < Skep::TestCase
  include WebVisits

  test "a logged-in visitor sends a command to the swarm, and the log names the visitor" do
    web = serve(user: "ada", password: "secret")
    cookie, token = log_in_with_token(web)
    errors = StringIO.new
    response = act(web, "scale", { nodes: 6 }, cookie:, token:, "rack.errors" => errors)
    assert_equal [200, { "v" => 1, "done" => "scale" }], [response[0], JSON.parse(text(response))]
    assert_equal [{ "v" => 1, "command" => "scale", "nodes" => 6 }], received
    assert_equal "skep web: ada sent scale 6 to hive\n", errors.string
  end

  test "a scale may be of one work" do
    web = serve(user: "ada", password: "secret")
    cookie, token = log_in_with_token(web)
    errors = StringIO.new
    act(web, "scale", { nodes: 6, work: "orders" }, cookie:, token:, "rack.errors" => errors)
    assert_equal [{ "v" => 1, "command" => "scale", "nodes" => 6, "work" => "orders" }], received
    assert_equal "skep web: ada sent scale orders=6 to hive\n", errors.string
  end

  test "a profile is answered with the methods of each work that took the most CPU time" do
    web = serve(user: "ada", password: "secret")
    cookie, token = log_in_with_token(web)
    errors = StringIO.new
    response = act(web, "profile", cookie:, token:, "rack.errors" => errors)
    answer = JSON.parse(text(response))
    assert_equal [200, 5, 2.0, [{ "node" => 1, "why" => "it is booting" }]],
                 [response[0], *answer.values_at("seconds", "cpu", "missing")]
    assert_equal ["orders"], answer["works"].keys
    row = answer.dig("works", "orders").first
    assert_equal ["Order#total", 4, 100.0], row.values_at("name", "line", "percent")
    assert_equal [{ "v" => 1, "command" => "profile", "seconds" => 5 }], received
    assert_equal "skep web: ada sent profile to hive\n", errors.string
  end

  test "each command has only fields that a supervisor takes" do
    web = serve(user: "ada", password: "secret")
    cookie, token = log_in_with_token(web)
    commands = Skep::Web::Action.const_get(:COMMANDS)
    commands.each { |command| act(web, command, { nodes: 1, work: "orders" }, cookie:, token:) }
    fields = Skep::Control::CommandHandler::FIELDS
    assert_equal commands, received.map { |sent| sent["command"] }
    foreign = received.to_h { |sent|
  [sent["command"], sent.keys - ["v", "command", *fields.fetch(sent["command"])]]
}
    assert_empty foreign.reject { |_, names| names.empty? }
  end

  test "a profile needs a visitor that may act" do
    web = serve
    cookie, token = enter(web)
    assert_equal 403, act(web, "profile", cookie:, token:)[0]
    assert_empty received
  end

  test "a command that the swarm refuses gets 409 and the reason" do
    web = serve(user: "ada", password: "secret")
    cookie, token = log_in_with_token(web)
    response = act(web, "reload", cookie:, token:)
    assert_equal [409, "no\n"], [response[0], text(response)]
  end

  test "an unknown command gets 400, an unknown swarm 404" do
    web = serve(user: "ada", password: "secret")
    cookie, token = log_in_with_token(web)
    assert_equal 400, act(web, "chaos", cookie:, token:)[0]
    ["x", "../hive", nil, 1].each do |swarm|
      assert_equal 404, act(web, "stop", { swarm: }, cookie:, token:)[0]
    end
    assert_empty received
  end

  test "a request of another site's page is refused" do
    web = serve(user: "ada", password: "secret")
    cookie, token = log_in_with_token(web)
    foreign = [{ "HTTP_SEC_FETCH_SITE" => "cross-site" }, { "HTTP_SEC_FETCH_SITE" => "same-site" },
               { "HTTP_ORIGIN" => "https://evil.example" }, { "HTTP_ORIGIN" => "null" }]
    foreign.each { |from| assert_equal 403, act(web, "stop", cookie:, token:, **from)[0] }
    assert_empty received
    ours = { "HTTP_ORIGIN" => "http://localhost:9393" }
    assert_equal 200, act(web, "stop", cookie:, token:, **ours)[0]
  end

  test "a request without the token of this session's page is refused" do
    web = serve(user: "ada", password: "secret")
    cookie, = log_in_with_token(web)
    others = log_in_with_token(web).last
    [nil, "", "x", others].each do |token|
      assert_equal 403, act(web, "stop", cookie:, token:)[0]
    end
    assert_empty received
  end
end
