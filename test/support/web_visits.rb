# frozen_string_literal: true

require "stringio"
require "tmpdir"
require "skep/web"

# Requests to the page by direct calls, for a swarm "hive": a socket that answers commands and
# records them.
module WebVisits
  STATUS = { "name" => "hive", "state" => "running", "pid" => 1, "uptime" => 1.0, "nodes" => [
    { "id" => 0, "pid" => 2, "state" => "ready", "last_hang" => { "reason" => "hung" },
      "memory" => { "uss" => 1, "pss" => 2 }, "work" => { "done" => 3 } }
  ] }.freeze
  PART = { seconds: 5.0, cpu: 2.0, samples: 400, lost: 0, sampler: true, threads: ["main"],
           labels: [{}], frames: [["Order#total", "/srv/order.rb", 3]],
           stacks: [["cpu", 0, 0, 4, [0], 2.0]], dropped: {}, dropped_stacks: 0 }.freeze
  PROFILE = { swarm: "hive", seconds: 5, missing: [{ node: 1, why: "it is booting", pid: nil }],
              nodes: [{ node: 0, work: "orders", pid: 2, profile: JSON.generate(PART) }] }.freeze
  ANSWERS = { "status" => { v: 1, status: STATUS }, "reload" => { v: 1, error: "no" },
              "profile" => { v: 1, profile: PROFILE } }.freeze
  private_constant :STATUS, :PART, :PROFILE, :ANSWERS

  def setup
    super
    @directory = Dir.mktmpdir
    @webs = []
    @received = Queue.new
    @server = UNIXServer.new(path)
    @answering = Thread.new { answer while true }
  end

  def teardown
    @webs.each(&:close)
    @answering.kill.join
    @server.close
    FileUtils.remove_entry(@directory)
    super
  end

  private

  def path = "#{@directory}/hive.sock"

  def serve(**options, &block)
    Skep::Web.new(control: path, **options, &block).tap { |web| @webs << web }
  end

  # Returns the commands that the swarm has received, except those for its status.
  def received = Array.new(@received.size) { @received.pop }

  def answer
    @server.accept.then do |client|
      facts = JSON.parse(client.gets)
      @received << facts.except("wait") unless facts["command"] == "status"
      client.puts(JSON.generate(ANSWERS.fetch(facts["command"], { v: 1, done: facts["command"] })))
    ensure
      client.close
    end
  end

  def call(web, method, path, cookie: nil, **env)
    plain = { "REQUEST_METHOD" => method, "PATH_INFO" => path, "SCRIPT_NAME" => "",
              "QUERY_STRING" => "", "HTTP_HOST" => "localhost:9393", "HTTP_COOKIE" => cookie,
              "REMOTE_ADDR" => "127.0.0.1", "rack.url_scheme" => "http" }.compact
    web.call({ **plain, **env.transform_keys(&:to_s) })
  end

  def get(web, path, **env) = call(web, "GET", path, **env)

  def post(web, path, body, **env)
    type = "application/x-www-form-urlencoded"
    call(web, "POST", path, **{ "rack.input" => StringIO.new(body), "CONTENT_TYPE" => type, **env })
  end

  def act(web, command, facts = {}, token:, **env)
    body = JSON.generate({ swarm: "hive", command:, **facts })
    head = { "CONTENT_TYPE" => "application/json", "HTTP_X_SKEP_TOKEN" => token }
    post(web, "/actions", body, **head, **env)
  end

  def text(response) = [].tap { |texts| response[2].each { |text| texts << text } }.join

  # The cookie of a new visitor, and the token of that visitor's page.
  def enter(web)
    response = get(web, "/")
    [cookie_of(response), token_of(response)]
  end

  def cookie_of(response) = response[1].fetch("set-cookie")[/[^;]+/]
  def token_of(response) = text(response)[/token" (?:content|value)="(\h+)"/, 1]

  # The cookie of a visitor with a session.
  def log_in(web)
    cookie, token = enter(web)
    cookie_of(post(web, "/login", "user=ada&password=secret&token=#{token}", cookie:))
  end

  # The same, and the token of the page.
  def log_in_with_token(web)
    cookie = log_in(web)
    [cookie, token_of(get(web, "/", cookie:))]
  end
end
