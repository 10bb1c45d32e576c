# frozen_string_literal: true

require "test_helper"
require "stringio"
require "skep/cli"
require "skep/kafka/command"

# Without a broker. test/scenario/kafka/reported_lag_matches_an_independent_client.rb asks a real
# broker.
class KafkaCommandTest < Skep::TestCase
  Settings = Skep::Kafka::Command::ClusterSettings

  test "--brokers overrides --set, --set overrides --config, and --config the swarm file" do
    swarm = file("swarm.rb", <<~RUBY)
      require "skep/kafka"
      Skep.swarm "s" do |swarm|
        kafka = { "bootstrap.servers": "file:1", "client.id": "file", "sasl.password": "deep" }
        swarm.work(Skep::Kafka::Source.new(kafka:, group: "a", topics: "x")) {}
        swarm.work { |node| node.wait }
        kafka = { "bootstrap.servers": "b:1" }
        swarm.work(Skep::Kafka::Source.new(kafka:, group: "b", topics: "x")) {}
      end
    RUBY
    config = file("client.properties", "# a comment\n\n client.id = config\nsasl.username: me\n")
    cluster = Settings.new(file: swarm, config: [config], set: ["a.b=1=2"])

    assert_equal %w[a b], cluster.groups
    assert_equal({ "bootstrap.servers" => "file:1", "client.id" => "config", "a.b" => "1=2",
                   "sasl.password" => "deep", "sasl.username" => "me" }, cluster.of("a"))
    assert_equal "b:1", cluster.of("b")["bootstrap.servers"]
    own = Settings.new(file: swarm, brokers: "mine:1")
    assert_equal "mine:1", own.of("a")["bootstrap.servers"]
  end

  test "a dead letter topic is looked for in the cluster of the source that writes it" do
    swarm = file("clusters.rb", <<~RUBY)
      require "skep/kafka"
      Skep.swarm "s" do |swarm|
        { "a:1" => "a.dead", "b:1" => "b.dead" }.each do |brokers, dead|
          kafka = { "bootstrap.servers": brokers }
          source = Skep::Kafka::Source.new(kafka:, group: "g", dead_letter_topic: dead) do |one|
            one.topic("orders") { nil }
          end
          swarm.work(source)
        end
      end
    RUBY
    cluster = Settings.new(file: swarm)

    assert_equal "b:1", cluster.of_dead_letters("b.dead")["bootstrap.servers"]
    error = assert_raises(Skep::CLI::UsageError) { cluster.of_dead_letters("c.dead") }
    assert_match(/no work of .* has the dead letter topic c\.dead/, error.message)
    named = Settings.new(file: swarm, brokers: "c:1").of_dead_letters("c.dead")
    assert_equal "c:1", named["bootstrap.servers"]
  end

  test "a wrong command line gets one sentence without a secret, and 64" do
    bad = file("bad.properties", "client.id=x\nsasl.password hunter2\n")
    kafka = dead_letters_in("a.dead", "b.dead")
    plain = file("plain.rb", "Skep.swarm(\"s\") { |swarm| swarm.work { |node| node.wait } }")
    {
      %w[] => /missing argument: lag or dead or broker/,
      %w[dead] => /missing argument: TOPIC/, %w[dead show] => /missing argument: TOPIC/,
      ["dead", "show", "--file", kafka] => /missing argument: TOPIC: .* several: a.dead, b.dead/,
      %w[dead d show e] => /unexpected argument: e/,
      %w[dead d bury] => /unknown action: bury: use one of/,
      %w[dead d --brokers b:1 --limit 0] => /--limit must be more than 0 .got 0./,
      %w[dead d replay --rate -1] => /--rate must be more than 0 .got -1./,
      %w[dead d show --letter 12 --brokers b:1] => %r{a place in d, such as d/0/12 .got 12.},
      %w[dead d replay --letter e/0/1 --brokers b:1] => %r{--letter .* in d, .*got e/0/1},
      %w[dead d purge --brokers b:1] => /purge deletes messages for good: repeat it with --yes/,
      %w[dead d replay --unknown --brokers b:1] => /--unknown: only for purge, not for replay/,
      %w[dead d] => /which cluster\?/, %w[topics] => /unknown command: kafka topics/,
      %w[lag] => /missing argument: GROUP/, %w[lag g] => /which cluster\?/,
      %w[broker o --json -- true] => /invalid option: --json/,
      %w[lag g --brokers b:1 --timeout 0] => /--timeout must be more than 0 .got 0./,
      ["lag", "g", "--config", bad] => /bad.properties: line 2 isn't a setting/,
      ["lag", "g", "--config", "/nowhere"] => %r{/nowhere: no such file},
      ["lag", "g", "--brokers", "b:1", "--set", "hunter2"] => /--set must be NAME=VALUE/,
      ["lag", "--file", plain] => /none of its work reads from Kafka/
    }.each do |arguments, sentence|
      code, out, err = skep("kafka", *arguments)
      assert_equal [64, "", 1], [code, out, err.lines.size], arguments.inspect
      assert_match sentence, err
      refute_includes err, "hunter2"
    end
  end

  test "lag of a cluster without a broker gets one sentence and 75" do
    code, _, err = skep("kafka", "lag", "g", "--brokers", "127.0.0.1:1", "--timeout", "0.3")
    missing err if err.include?("karafka-rdkafka") # without a compiler the gem can't be had
    assert_equal [75, 1], [code, err.lines.size]
    assert_match(/No broker of 127\.0\.0\.1:1 answered within 0\.3 s .*--timeout/, err)
  end

  test "dead needs no TOPIC if the swarm file has one, or with the place of a dead letter" do
    swarm = dead_letters_in("a.dead", "a.dead")
    [["show", "--file", swarm], ["--file", swarm], %w[replay --letter a.dead/0/12]].each do |words|
      code, _, err = skep("kafka", "dead", *words, "--brokers", "127.0.0.1:1", "--timeout", "0.3")
      missing err if err.include?("karafka-rdkafka")
      assert_equal [75, 1], [code, err.lines.size]
      assert_match(/No broker of 127\.0\.0\.1:1 answered/, err)
    end
  end

  test "help of a subcommand shows that one's options only" do
    shown = skep("help", "kafka", "dead")[1]

    assert_equal skep("kafka", "dead", "--help")[1], shown
    assert_match(/\Ausage: skep kafka dead/, shown)
    refute_match(/skep kafka lag/, shown)
  end

  private

  # Returns the path of a swarm file whose sources have these dead letter topics.
  def dead_letters_in(*topics)
    file("dead.rb", <<~RUBY)
      require "skep/kafka"
      Skep.swarm "s" do |swarm|
        #{topics}.each do |dead|
          swarm.work(Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "a:1" }, group: "g",
                                             topics: "orders", dead_letter_topic: dead)) {}
        end
      end
    RUBY
  end

  def file(name, text) = File.join(directory, name).tap { |path| File.write(path, text) }
  def directory = @directory ||= Dir.mktmpdir
  def teardown = @directory && FileUtils.remove_entry(@directory)

  def skep(*arguments)
    out, err = StringIO.new, StringIO.new
    [Skep::CLI.start(arguments, out:, err:), out.string, err.string]
  end
end
