# frozen_string_literal: true

require "test_helper"
require "stringio"
require "skep/cli"
require "skep/cli/kafka"

# What needs no broker; test/scenario/kafka/lag_is_what_others_say.rb asks a real one.
class KafkaCommandTest < Skep::TestCase
  Clusters = Skep::CLI::Kafka::Clusters

  test "takes settings from a swarm file, then from files, from --set, and from --brokers" do
    swarm = file("swarm.rb", <<~RUBY)
      require "skep/kafka"
      Skep.swarm "s" do |swarm|
        kafka = { "bootstrap.servers": "file:1", "client.id": "file", "sasl.password": "deep" }
        swarm.work(Skep::Kafka::Source.new(kafka:, group: "a", topics: "x")) {}
        swarm.work { |child| child.wait }
        kafka = { "bootstrap.servers": "b:1" }
        swarm.work(Skep::Kafka::Source.new(kafka:, group: "b", topics: "x")) {}
      end
    RUBY
    config = file("client.properties", "# a comment\n\n client.id = config\nsasl.username: me\n")
    clusters = Clusters.new(file: swarm, config: [config], set: ["a.b=1=2"])

    assert_equal %w[a b], clusters.groups
    assert_equal({ "bootstrap.servers" => "file:1", "client.id" => "config", "a.b" => "1=2",
                   "sasl.password" => "deep", "sasl.username" => "me" }, clusters.of("a"))
    assert_equal "b:1", clusters.of("b")["bootstrap.servers"]
    assert_equal "mine:1", Clusters.new(file: swarm, brokers: "mine:1").of("a")["bootstrap.servers"]
  end

  test "says in a sentence what is wrong, and shows no secret" do
    bad = file("bad.properties", "client.id=x\nsasl.password hunter2\n")
    plain = file("plain.rb", "Skep.swarm(\"s\") { |swarm| swarm.work { |child| child.wait } }")
    {
      %w[] => /what to ask is missing/, %w[topics] => /no `skep kafka topics`/,
      %w[lag] => /GROUP is missing/, %w[lag g] => /which cluster\?/,
      %w[lag g --brokers b:1 --timeout 0] => /more than 0/,
      ["lag", "g", "--config", bad] => /bad.properties: line 2 is no setting/,
      ["lag", "g", "--config", "/nowhere"] => %r{/nowhere: no such file},
      ["lag", "g", "--brokers", "b:1", "--set", "hunter2"] => /--set takes name=value/,
      ["lag", "--file", plain] => /no work of it reads from Kafka/
    }.each do |arguments, sentence|
      code, out, err = skep("kafka", *arguments)
      assert_equal [64, "", 1], [code, out, err.lines.size], arguments.inspect
      assert_match sentence, err
      refute_includes err, "hunter2"
    end
  end

  test "says that no broker answers, in one sentence" do
    code, _, err = skep("kafka", "lag", "g", "--brokers", "127.0.0.1:1", "--timeout", "0.3")
    missing err if err.include?("karafka-rdkafka") # without a compiler the gem can't be had
    assert_equal [75, 1], [code, err.lines.size]
    assert_match(/no broker of 127\.0\.0\.1:1 answered within 0\.3 s .*--timeout/, err)
  end

  private

  def file(name, text) = File.join(directory, name).tap { |path| File.write(path, text) }
  def directory = @directory ||= Dir.mktmpdir
  def teardown = @directory && FileUtils.remove_entry(@directory)

  def skep(*arguments)
    out, err = StringIO.new, StringIO.new
    [Skep::CLI.start(arguments, out:, err:), out.string, err.string]
  end
end
