# frozen_string_literal: true

require "kafka/support/kafka_case"

# `skep kafka broker TOPIC … -- COMMAND`, run by a shell.
class KafkaBrokerCommandTest < KafkaCase
  ROOT = File.expand_path("../../..", __dir__)
  SKEP = [RbConfig.ruby, "-w", "#{ROOT}/skep/exe/skep", "kafka", "broker"].freeze
  READER = <<~RUBY
    require "skep"
    require "skep/kafka"
    require "kafka/support/fake_node"
    node = FakeNode.new { |*| nil }
    got = []
    source = Skep::Kafka::Source.new(kafka: JSON.parse(ENV.fetch("KAFKA_SETTINGS")), group: "g", topics: "t")
    source.run(node, lambda do |batch, _|
      got.concat(batch.payloads)
      node.stop! if got.size == 3
    end)
    puts got.sort.inspect, JSON.parse(ENV.fetch("KAFKA_SETTINGS"))["bootstrap.servers"] == ENV.fetch("KAFKA_BROKERS")
    exit 7
  RUBY
  ADDRESS = /\Askep: embedded broker at 127\.0\.0\.1:\d+\n/
  private_constant :ROOT, :SKEP, :READER, :ADDRESS

  test "runs a command beside a broker with stdin's lines as messages" do
    reader = [RbConfig.ruby, "-r#{ROOT}/test/load_path", "-e", READER]
    out, err, status = typed("a\\nb\\n\\nlast", "t:2", "t.dead", "--", *reader)

    assert_equal "#{%w[a b last].inspect}\ntrue\n", out
    assert_match(/#{ADDRESS}\z/, err)
    assert_equal 7, status.exitstatus
  end

  test "forwards a signal, and exits with the status of its command" do
    waits = <<~RUBY
      trap("TERM") { exit 3 }
      Process.kill(:TERM, Process.ppid)
      reader, _writer = IO.pipe
      reader.read
    RUBY
    out, err, status = typed("", "t", "--", RbConfig.ruby, "-e", waits)

    assert_equal "", out
    assert_match(/#{ADDRESS}\z/, err)
    assert_equal 3, status.exitstatus
  end

  test "prints one line for a wrong command line" do
    { %w[] => /missing argument: TOPIC/, %w[t] => /missing argument: COMMAND/,
      %w[t:0 -- true] => /invalid topic "t:0": use NAME or NAME:PARTITIONS/,
      %w[t -- /no/where] => %r{can't run /no/where: no such file} }.each do |arguments, sentence|
      out, err, status = typed("", *arguments)
      err = err.sub(ADDRESS, "") if arguments.include?("/no/where") # the broker runs by then
      assert_equal ["", 1, 64], [out, err.lines.size, status.exitstatus], err
      assert_match sentence, err
    end
  end

  private

  # Returns stdout, stderr and the status of the command with that input.
  def typed(input, *arguments)
    run_command({}, "sh", "-c", "printf '#{input}' | exec \"$@\"", "sh", *SKEP, *arguments,
                timeout: SECONDS)
  end
end
