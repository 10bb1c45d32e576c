# frozen_string_literal: true

require "stringio"
require "tmpdir"
require "skep/web"

# Visits to the page by direct calls, for a swarm "hive" that is a socket which answers commands and
# keeps what it was asked.
module WebVisits
  STATUS = { "name" => "hive", "state" => "running", "pid" => 1, "uptime" => 1.0, "nodes" => [
    { "id" => 0, "pid" => 2, "state" => "ready", "last_hang" => { "why" => "hung" },
      "memory" => { "uss" => 1, "pss" => 2 }, "work" => { "done" => 3 } }
  ] }.freeze
  ANSWERS = { "status" => { v: 1, status: STATUS }, "reload" => { v: 1, error: "no" } }.freeze
  private_constant :STATUS, :ANSWERS

  def setup
    super
    @directory = Dir.mktmpdir
    @webs = []
    @asked = Queue.new
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

  # What it was asked that isn't its status.
  def asked = Array.new(@asked.size) { @asked.pop }

  def answer
    @server.accept.then do |client|
      facts = JSON.parse(client.gets)
      @asked << facts.except("wait") unless facts["command"] == "status"
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

  def deed(web, command, facts = {}, token:, **env)
    body = JSON.generate({ swarm: "hive", command:, **facts })
    head = { "CONTENT_TYPE" => "application/json", "HTTP_X_SKEP_TOKEN" => token }
    post(web, "/deeds", body, **head, **env)
  end

  # The cookie of who comes for the first time, and the token of his page.
  def enter(web)
    answer = get(web, "/")
    [answer[1]["set-cookie"][/[^;]+/], token_of(answer)]
  end

  def token_of(answer) = answer[2].join[/token" (?:content|value)="(\h+)"/, 1]

  def log_in(web)
    cookie, token = enter(web)
    form = "user=ada&password=secret&token=#{token}"
    post(web, "/login", form, cookie:)[1].fetch("set-cookie")[/[^;]+/]
  end
end
