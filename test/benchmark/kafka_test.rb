# frozen_string_literal: true

require "test_helper"
require "json"

# `bin/bench kafka`, in processes of its own: it makes itself the subreaper.
class KafkaBenchmarkTest < Skep::TestCase
  BENCHMARK = File.expand_path("../../benchmark", __dir__)
  BROKER = "SKEP_KAFKA_BROKER"
  SMALL = <<~RUBY
    require "#{BENCHMARK}/command"
    require "#{BENCHMARK}/kafka"
    small = { messages: ARGV.empty? ? 100_000 : 80_000, sums: 8_000, calm: 12, idle: 2, large: 40 }
    puts Skep::Benchmarks::Kafka.new(rounds: 1, only: ARGV.first, **small).run.to_json
  RUBY
  private_constant :BENCHMARK, :BROKER, :SMALL

  test "skips each row with a reason if there is no real broker" do
    report = measure({ BROKER => nil })
    assert_operator report["rows"].size, :>, 10
    report["rows"].each { |row| assert_match(/real broker|karafka-rdkafka|kcat/, row["skipped"]) }
    assert_equal [nil], report["goals"].map { |goal| goal["met"] }.uniq
  end

  test "measures each consumer that is installed" do
    skip "#{BROKER} names no program that starts a broker" unless ENV[BROKER]
    report = measure({ BROKER => ENV.fetch(BROKER) })
    measured = report["rows"].select { |row| row["median"] }
    assert_empty report["rows"].filter_map { |row| row["skipped"] }.grep(/failed|nothing was read/)
    assert_includes measured.map { |row| row["name"] }, "skep"
    measured.each { |row| assert_operator row["median"], :>, 0 }
    names = ["skewed: skep", "the same spread evenly: skep", "idle: skep",
             "sparse: skep", "990 kB: skep", "4 at once: skep"]
    assert_empty names - measured.map { |row| row["name"] }
  end

  test "measures the others with their defaults and with their best" do
    skip "#{BROKER} names no program that starts a broker" unless ENV[BROKER]
    report = measure({ BROKER => ENV.fetch(BROKER) }, only: "Karafka")
    rows = report["rows"].to_h { |row| [row["name"], row] }
    expected = ["Karafka", "Karafka, skep's settings", "Karafka, tuned",
                "JSON: Karafka", "JSON: Karafka, skep's settings", "JSON: Karafka, tuned",
                "1 process: Karafka"]
    assert_equal expected.sort, rows.keys.sort
    skip "the gem karafka isn't in reach" if rows["Karafka"]["skipped"].to_s.include?("reach")
    rows.each_value { |row| assert_kind_of Numeric, row["median"], row.inspect }
    assert_match(/\A\d+\.\d+\.\d+ \(of karafka-rdkafka \d+\.\d+\.\d+\)\z/,
                 report.dig("versions", "librdkafka"))
  end

  test "names the version from which on a client has poll_batch, or measures it" do
    skip "#{BROKER} names no program that starts a broker" unless ENV[BROKER]
    rows = measure({ BROKER => ENV.fetch(BROKER) }, only: "poll_batch")["rows"]
    assert_equal 6, rows.size
    rows.each do |row|
      next assert_kind_of(Numeric, row["median"], row.inspect) if newer_client?

      assert_match(/\Akarafka-rdkafka [\d.]+ has no poll_batch: 0\.27 or newer/, row["skipped"])
    end
  end

  test "each process of the plain client reads a part of the topic" do
    require "skep/kafka"
    broker = Skep::Kafka::EmbeddedBroker.start(topics: { "orders" => 2 })
    Dir.mktmpdir do |folder|
      File.mkfifo("#{folder}/reports")
      reports = File.open("#{folder}/reports", File::RDWR)
      client = start_reader("poll", folder, broker.settings, workers: 2)
      assert_equal 2, readers_of("orders", broker, reports, 2).size
    ensure
      Process.kill(:KILL, -client) && Process.wait(client) if client
      reports&.close
    end
  ensure
    broker&.stop
  end

  test "kcat gets the settings that its librdkafka knows" do
    require_relative "../../benchmark/command"
    require_relative "../../benchmark/kafka"
    kcat = Skep::Benchmarks::Kafka.class_eval("Kcat", __FILE__, __LINE__)
    skip kcat.missing if kcat.missing
    library = Skep::Benchmarks::Kafka.class_eval("Cluster", __FILE__, __LINE__).librdkafka
    assert_match(/\Akcat [\d.]+ \(librdkafka #{library[/\A[\d.]+/]}\)\z/, kcat.version)
    known = kcat.known({ "queued.min.messages" => "7", "no.such.setting" => "1" })
    assert_equal({ "queued.min.messages" => "7" }, known)
  end

  test "a broker that doesn't stop costs no figures" do
    require_relative "../../benchmark/command"
    require_relative "../../benchmark/kafka"
    cluster = Skep::Benchmarks::Kafka.class_eval("Cluster", __FILE__, __LINE__)
    Dir.mktmpdir do |folder|
      program = "#!/bin/sh\n" + '[ "$1" = start ] || { echo "it still runs"; exit 1; }'
      File.write("#{folder}/broker", program)
      before, ENV[BROKER] = ENV.fetch(BROKER, nil), "#{folder}/broker"
      File.chmod(0o755, ENV.fetch(BROKER))
      _, err = capture_io { assert_equal("figures", cluster.during { "figures" }) }
      assert_equal "bench: the broker's program can't kill it: it still runs\n", err
    ensure
      ENV[BROKER] = before
    end
  end

  private

  # Starts a program of the benchmark in a process group, and returns its pid.
  def start_reader(name, folder, kafka, **wishes)
    kafka = kafka.merge("auto.offset.reset" => "earliest")
    wishes = { topic: "orders", group: "readers", work: "payload", every: 1,
               brokers: kafka["bootstrap.servers"], settings: kafka, **wishes }
    gems = Gem.loaded_specs.values.flat_map(&:full_require_paths).map { |path| "-I#{path}" }
    env = { "SKEP_BENCH_WISHES" => JSON.generate(wishes), "SKEP_BENCH_FOLDER" => folder }
    spawn(env, RbConfig.ruby, *gems, "#{BENCHMARK}/kafka/readers/#{name}.rb", pgroup: true)
  end

  # Writes messages until so many processes have reported one, or it takes too long. Returns their
  # pids.
  def readers_of(topic, broker, reports, count)
    seeder = Skep::Kafka::Testing::TopicSeeder.new(broker.bootstrap_servers, topic)
    found = []
    over = deadline(Patience.of(20))
    while found.size < count && seconds_until(over).positive?
      seeder.publish([[nil, "v", 0], [nil, "v", 1]])
      found |= [wait_readable(reports).gets.split[1]]
    end
    found
  ensure
    seeder&.close
  end

  def newer_client?
    version = Gem.loaded_specs["karafka-rdkafka"]&.version
    version && version >= Gem::Version.new("0.27")
  end

  def measure(env, only: nil)
    out, err, status = run_program(SMALL, [*only], env:, timeout: 300, gems: :bundler)
    assert_equal ["", true], [err, status.success?]
    JSON.parse(out)
  end
end
