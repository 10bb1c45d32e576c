# frozen_string_literal: true

require "test_helper"
require "socket"
require "stringio"
require "tmpdir"
require "skep/cli"

# Each command for a swarm, with a control socket at which another program answers.
class ForeignAnswersTest < Skep::TestCase
  NODE = { id: 0, pid: 2, state: "ready", restarts: 0, work: {} }.freeze
  STATUS = { name: "a", pid: 3, state: "running", uptime: 1.0, skep: "1", ruby: "3",
             nodes: [NODE] }.freeze
  PROBLEM = { kind: "hung", level: "critical", subject: "node 3", text: "it hangs", since: 31.0,
              at: "a.rb:1", doing: "skep ends it", advice: "See it" }.freeze
  COMMANDS = [%w[status], %w[status --json], %w[status --partitions], %w[top --once], %w[stop],
              %w[stop --no-wait], %w[chaos --seconds 1], %w[restart], %w[reload], %w[quiet],
              %w[scale 3], %w[profile 1], %w[events], %w[events --follow --json]].freeze
  BAD = ["null", "[]", "1", '"x"', "{}", "", "{", "no JSON at all", '{"status":null}',
         '{"status":{}}', '{"status":[1]}', '{"status":{"nodes":[{}]}}', '{"error":5}',
         "[" * 50_000, "\xFF\xFE\x00"].freeze
  private_constant :NODE, :STATUS, :PROBLEM, :COMMANDS, :BAD

  def setup
    @directory = Dir.mktmpdir
    @path = "#{@directory}/a.sock"
    @server = UNIXServer.new(@path)
    @answering = Thread.new { answer while true }
  end

  def teardown
    @answering.kill.join
    @server.close
    FileUtils.remove_entry(@directory)
  end

  test "every command prints one sentence and no backtrace for an invalid answer" do
    BAD.each do |answer|
      @answer = answer
      COMMANDS.each do |words|
        out, err, = skep(*words)
        assert_match(/\Askep: [^\n]+\n\z/, err, "#{words} of #{answer.inspect}: #{out}")
      end
    end
  end

  test "status, top, stop and chaos refuse an answer with any one fact of a wrong type" do
    [nil, [], -1, "x", 10**400].each do |wrong|
      STATUS.each_key do |key|
        @answer = JSON.generate({ status: { **STATUS, key => wrong } })
        assert_refused_or_shown
      end
      NODE.each_key do |key|
        @answer = JSON.generate({ status: { **STATUS, nodes: [{ **NODE, key => wrong }] } })
        assert_refused_or_shown
      end
      PROBLEM.each_key do |key|
        @answer = JSON.generate({ status: { **STATUS, problems: [{ **PROBLEM, key => wrong }] } })
        assert_refused_or_shown
      end
      @answer = JSON.generate({ status: { **STATUS, problems: wrong } })
      assert_refused_or_shown
    end
  end

  test "escape sequences in an answer are spelt out" do
    @answer = JSON.generate({ status: { **STATUS, name: "\e[2Jhive", state: "\e]0;x\a",
                                                  skep: "\e[31m1" } })
    out, = skep("status")
    assert_equal "^[[2Jhive: ^[]0;x^G, pid 3, up 1 s, skep ^[[31m1\n", out.lines.first
    @answer = JSON.generate({ error: "\e[2Jno" })
    assert_equal "skep: ^[[2Jno\n", skep("status")[1]
    assert_equal "skep: ^[[2Jno\n", skep("quiet")[1]
  end

  test "status shows a node with invalid facts of its work" do
    [{ kind: 1 }, { kind: "../../x" }, { kind: "mail", lag: [], group: {} }].each do |work|
      @answer = JSON.generate({ status: { **STATUS, nodes: [{ **NODE, work: }] } })
      out, err, code = skep("status", "--partitions")
      assert_equal ["", 0], [err, code]
      assert_includes out, "a: running"
    end
  end

  test "the first line of a status names what decided the number of nodes, if it is known" do
    { "option" => ", number of nodes by the option",
      "affinity" => ", number of nodes by the CPU affinity",
      "cpu_quota" => ", number of nodes by the CPU quota",
      nil => "", [1] => "", "\e[2J" => "" }.each do |nodes_from, words|
      @answer = JSON.generate({ status: { **STATUS, nodes_from: } })
      assert_equal "a: running, pid 3, up 1 s, skep 1#{words}\n", skep("status").first.lines.first
    end
  end

  test "the first line of a status names the revision, a commit of Git by its first digits" do
    { "v2.1" => ", revision v2.1", "4f0c1e2ab" * 4 + "cdef" => ", revision 4f0c1e2ab4f0",
      "\e[2J" => ", revision ^[[2J", nil => "", 1 => "" }.each do |revision, words|
      @answer = JSON.generate({ status: { **STATUS, revision: } })
      assert_equal "a: running, pid 3, up 1 s, skep 1#{words}\n", skep("status").first.lines.first
    end
  end

  test "status --exit-status is 1 in a crash loop and without a ready node" do
    { [] => 1, %w[booting] => 1, %w[booting ready] => 0, %w[spare] => 1 }.each do |states, code|
      nodes = states.each_with_index.map { |state, id| { **NODE, id:, state: } }
      @answer = JSON.generate({ status: { **STATUS, nodes: } })
      assert_equal [code, 0], [skep("status", "--exit-status").last, skep("status").last], states
    end
    @answer = JSON.generate({ status: { **STATUS, crash_loop: true } })
    assert_equal 1, skep("status", "--exit-status").last
  end

  test "status --exit-status is 1 if a problem is critical, and the problems come first" do
    { %w[info] => 0, %w[warning info] => 0, %w[critical warning] => 1 }.each do |levels, code|
      problems = levels.map { |level| { **PROBLEM, level:, subject: "node \e[2J3" } }
      @answer = JSON.generate({ status: { **STATUS, problems: } })
      out, _, answered = skep("status", "--exit-status")
      assert_equal code, answered, levels
      assert_equal ["node ^[[2J3: it hangs, for 31s, at a.rb:1\n", "  skep ends it. See it\n"],
                   out.lines[1, 2]
    end
    @answer = JSON.generate({ status: { **STATUS, problems: [PROBLEM] * 12 } })
    assert_equal "and 2 more problems\n", skep("status").first.lines[21]
  end

  test "stop and chaos refuse an answer with a pid that isn't the answering process'" do
    @events = ""
    @answer = JSON.generate({ status: { **STATUS, pid: Process.ppid } })
    [%w[stop], %w[chaos --seconds 1]].each do |words|
      _, err, code = skep(*words)
      assert_equal 1, [code, 1].min
      assert_equal "skep: the swarm at #{@path} reports process #{Process.ppid}, but process " \
                   "#{Process.pid} answers: it runs in another container, or isn't a swarm; " \
                   "run this command where it runs\n", err
    end
  end

  private

  def assert_refused_or_shown
    [%w[status], %w[top --once], %w[stop], %w[chaos --seconds 1]].each do |words|
      _, err, code = skep(*words)
      assert_match(/\Askep: [^\n]+\n\z/, err, "#{words}: #{@answer}") unless code.zero?
    end
  end

  def skep(*words)
    out, err = StringIO.new, StringIO.new
    code = Skep::CLI.start([words.first, "--control", @path, *words.drop(1)], out:, err:)
    [out.string, err.string, code]
  end

  # A `follow` first gets the number of the next event, then @events.
  def answer
    client = @server.accept
    request = client.gets.to_s
    client.write('{"follow":{"seq":1}}', "\n") if request.include?('"follow"')
    client.write(request.include?('"follow"') ? @events || "null\n" : @answer)
  rescue SystemCallError # the client has closed the socket
    nil
  ensure
    client&.close
  end
end
