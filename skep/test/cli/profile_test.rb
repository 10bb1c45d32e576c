# frozen_string_literal: true

require "test_helper"
require "socket"
require "stringio"
require "tmpdir"
require "skep/cli"

# `skep profile` with a thread in place of the supervisor.
class ProfileCommandTest < Skep::TestCase
  STACKS = [["cpu", 0, 0, 4, [0], 6.0], ["cpu", 0, 0, 9, [1], 3.0],
            ["gvl", 0, 0, 9, [1], 1.0]].freeze
  PART = { seconds: 10.0, cpu: 9.0, samples: 1800, lost: 0, sampler: true, threads: ["main"],
           labels: [{ topic: "orders" }], frames: [["Order#total", "/srv/order.rb", 3],
                                                   ["Order#tax", "/srv/order.rb", 8]],
           stacks: STACKS, dropped: {}, dropped_stacks: 0 }.freeze
  private_constant :STACKS, :PART

  def setup
    super
    @directory = Dir.mktmpdir
    @server = UNIXServer.new("#{@directory}/hive.sock")
    node = { node: 0, work: "orders", pid: 7, profile: JSON.generate(PART) }
    @answer = { profile: { swarm: "hive", seconds: 10, missing: [], nodes: [node] } }
    @answering = Thread.new { answer while true }
  end

  def teardown
    @answering.kill.join
    @server.close
    FileUtils.remove_entry(@directory)
    super
  end

  test "shows the hottest methods and each node, and writes a file for speedscope" do
    code, out, err = skep
    assert_equal [0, ""], [code, err]
    assert_equal ["hive: 1 node, 10 s, 9.0 s of CPU time, 1800 samples",
                  "node  work    pid  cpu  queue  gvl  hottest",
                  "   0  orders    7  90%  0%     10%  66.7% Order#total"],
                 out.lines(chomp: true).first(3)
    assert_match(%r{^66.7%  6.0s  Order#total  /srv/order.rb:4 +-$}, out)
    assert_match(%r{^33.3%  3.0s  Order#tax    /srv/order.rb:9 +-$}, out)
    assert_equal 2, JSON.parse(File.read(file))["profiles"].size
    assert_equal [{ "v" => 1, "command" => "profile", "seconds" => 10.0 }], @received
  end

  test "--json prints one line, and --state shows what threads wait for" do
    code, out, = skep("30", "--json", "--state", "gvl")
    shown = JSON.parse(out)
    assert_equal [0, 1, "gvl", 30.0],
                 [code, out.lines.size, shown["state"], @received.dig(0, "seconds")]
    assert_equal [["Order#tax", 9, 100.0]],
                 (shown["top"].map { |row| row.values_at("name", "line", "percent") })
    assert_equal [[0, "orders", 9.0]],
                 (shown["nodes"].map { |node| node.values_at("id", "work", "cpu") })
    assert_equal shown["top"], shown.dig("works", "orders")
  end

  test "names the nodes that have sent none, shows the others, and fails if there are no others" do
    @answer[:profile][:missing] = [{ node: 1, work: "orders", pid: 8, why: "it ended meanwhile" }]
    code, out, err = skep
    assert_equal [0, "skep: node 1 (pid 8) isn't in the profile: it ended meanwhile\n"], [code, err]
    assert_match(/Order#total/, out)
    @answer[:profile][:nodes] = []
    code, _, err = skep
    assert_equal [1, "skep: no node sent a profile"], [code, err.lines.last.chomp]
  end

  test "says what there is if nothing matches" do
    assert_equal [1, "", "skep: no samples match: there are works orders; threads main; " \
                         "topics orders\n"],
                 skep("--topic", "refunds")
    assert_equal 0, skep("--topic", "orders", "--node", "0", "--thread", "main")[0]
  end

  test "a supervisor of an older version is named, and a refusal shown" do
    @answer = { error: "unknown command \"profile\": there are status, stop" }
    code, out, err = skep
    assert_equal [1, ""], [code, out]
    assert_match(/another version of skep \(unknown; .* doesn't know the command profile/, err)
    @answer = { error: "another profile of this swarm is being taken: try again in 3 s" }
    assert_equal [1, "", "skep: #{@answer[:error]}\n"], skep
  end

  test "seconds out of range and a file that can't be written get one sentence" do
    [%w[0], %w[301], %w[-5], %w[hive x]].each do |words|
      out, err = StringIO.new, StringIO.new
      assert_equal 64, Skep::CLI.start(["profile", *words], out:, err:)
      assert_match(/\Askep: (SECONDS must be a number from 1 to 300 |invalid option: -5)[^\n]*\n\z/,
                   err.string)
    end
    code, out, err = skep("--output", "#{@directory}/no/where.json")
    assert_equal [1, true], [code, out.include?("Order#total")]
    assert_match(/\Askep: the profile can't be written to .*: name another file[^\n]*\n\z/, err)
  end

  private

  def file = "#{@directory}/out.json"

  def skep(*words)
    out, err = StringIO.new, StringIO.new
    @received = []
    output = words.include?("--output") ? [] : ["--output", file]
    words = ["profile", "--control", "#{@directory}/hive.sock", *output, *words]
    code = Skep::CLI.start(words, out:, err:)
    [code, out.string, err.string]
  end

  def answer
    client = @server.accept
    @received << JSON.parse(client.gets)
    client.write("#{JSON.generate({ v: 1, **@answer })}\n")
  ensure
    client&.close
  end
end
