# frozen_string_literal: true

require "test_helper"
require "tempfile"
require "skep/log"

class EventLogTest < Skep::TestCase
  def setup = (@reader, @writer = IO.pipe)
  def teardown = [@reader, @writer].each { |io| io.close unless io.closed? }

  test "writes one line per event, and quotes values with spaces or quotes" do
    log(log_format: :text).event("node_died", :warn, { node: 0, signal: "KILL",
                                                       error: "it said \"no\"", list: [1, 2] })
    time = /\d{4}-\d\d-\d\dT[\d:.]+Z/
    facts = /swarm=a node=0 signal=KILL error='it said "no"' list=\[1,2\]/

    assert_match(/\A#{time} WARN  node_died #{facts}\n\z/, line)
  end

  test "writes one line even if the work's names contain line breaks" do
    log(log_format: :text).event("paid\n2026 ERROR", :info, { "to\nwhom": "me" })

    assert_match(/ INFO  "paid\\n2026 ERROR" swarm=a "to\\nwhom"=me\n\z/, line)
  end

  test "writes JSON with a monotonic time" do
    log(log_format: :json).event("node_ready", :info, { node: 0, seconds: 0.5 })
    facts = JSON.parse(line)

    assert_equal({ "level" => "info", "event" => "node_ready", "swarm" => "a", "node" => 0,
                   "seconds" => 0.5 }, facts.except("time", "mono"))
    assert_in_delta Skep::OS.now, facts["mono"], 60
  end

  test "keeps events that come before the configuration" do
    log = Skep::Log::EventLog.new(output: @writer)
    log.event("early", :info, {})
    log.start(config({}))

    assert_match(/ early swarm=a/, line)
  end

  test "writes events of its level and above" do
    log = log(log_level: :warn)
    log.event("quiet", :info, {})
    log.event("loud", :error, {})

    assert_match(/loud/, line)
  end

  test "hides secrets" do
    log({}).event("node_failed", :error,
                  { "sasl.password" => "hunter2", message: "redis://u:hunter2@h is gone" })

    refute_match(/hunter2/, line)
  end

  test "writes backtraces below the event's line" do
    main = { "name" => "main", "status" => "sleep", "backtrace" => ["a.rb:1", "b.rb:2"] }
    below = /  thread main \(sleep\)\n    a.rb:1\n    b.rb:2\n/
    log({}).event("node_backtraces", :info, { node: 1, threads: [main] })

    assert_match(/node_backtraces swarm=a node=1\n#{below}\z/, line)
  end

  test "reopen opens its file again" do
    Dir.mktmpdir do |directory|
      path = File.join(directory, "a.log")
      log = log(log: path)
      log.event("first", :info, {})
      File.rename(path, "#{path}.1")
      log.reopen
      log.event("second", :info, {})
      log.on_close

      assert_equal([/ first /, / second /].map(&:source),
                   ["#{path}.1", path].map { |file| File.read(file)[/ (first|second) /] })
    end
  end

  test "reports on stderr how many lines were lost at the end" do
    _, err, = run_program(<<~RUBY)
      require "skep/log"
      reader, writer = IO.pipe
      log = Skep::Log::EventLog.new(output: writer)
      log.start(Skep::Swarm::Definition::Config.new("a", {}, tasks: [{}]))
      reader.close
      2.times { log.event("lost", :info, {}) }
      log.on_close
    RUBY

    assert_equal "skep: 2 lines of the log could not be written\n", err
  end

  test "the lines of a file that can't be written are reported by the next file" do
    Dir.mktmpdir do |directory|
      path = File.join(directory, "a.log")
      File.symlink("/dev/full", path)
      log = log(log: path)
      3.times { log.event("lost", :info, {}) }
      File.unlink(path)
      log.reopen
      log.event("written", :info, {})
      log.on_close

      assert_match(/\A\S+ INFO  written .*lost_lines=3\n\z/, File.read(path))
    end
  end

  private

  def config(options) = Skep::Swarm::Definition::Config.new("a", options, tasks: [{}])

  def log(options)
    Skep::Log::EventLog.new(output: @writer).tap { |log| log.start(config(options)) }
  end

  def line = wait_readable(@reader).readpartial(65_536)
end
