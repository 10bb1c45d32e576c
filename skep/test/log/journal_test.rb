# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/log"

# The log where stdout is systemd's journal.
class JournalTest < Skep::TestCase
  def setup
    @directory = Dir.mktmpdir
    @path = File.join(@directory, "socket")
    @journald = Socket.new(:UNIX, :DGRAM).tap { |one| one.bind(Addrinfo.unix(@path, :DGRAM)) }
    @reader, @writer = IO.pipe
    stat = @writer.stat
    @env = { "JOURNAL_STREAM" => "#{stat.dev}:#{stat.ino}" }
  end

  def teardown
    @log&.on_close
    [@reader, @writer, @journald].each(&:close)
    FileUtils.remove_entry(@directory)
  end

  test "sends each fact as a field, and the level as PRIORITY" do
    log({}).event("node_died", :warn, { node: 0, signal: "KILL", in_flight: ["orders 1@7"] })

    line = %(node_died swarm=a node=0 signal=KILL in_flight='["orders 1@7"]')

    assert_equal({ "MESSAGE" => line, "PRIORITY" => "4", "SYSLOG_IDENTIFIER" => "skep",
                   "SKEP_EVENT" => "node_died", "SKEP_SWARM" => "a", "SKEP_NODE" => "0",
                   "SKEP_SIGNAL" => "KILL", "SKEP_IN_FLIGHT" => "[\"orders 1@7\"]" }, entry)
  end

  test "sends a fact of several lines with its length, and backtraces in MESSAGE only" do
    main = { "name" => "main", "status" => "sleep", "backtrace" => ["a.rb:1", "b.rb:2"] }
    log({}).event("node_hung", :error, { "odd name!" => "two\nlines \u{1f41d}", threads: [main] })
    fields = entry

    assert_equal ["two\nlines \u{1f41d}", "3"], fields.values_at("SKEP_ODD_NAME_", "PRIORITY")
    assert_match(/\n  thread main \(sleep\)\n    a.rb:1\n    b.rb:2\z/, fields["MESSAGE"])
    refute_includes fields, "SKEP_THREADS"
  end

  test "hides secrets" do
    log({}).event("node_failed", :error, { message: "redis://u:hunter2@h is gone" })

    refute_match(/hunter2/, entry.values.join)
  end

  test "writes to stdout if log_format is given" do
    log({ log_format: :json }).event("first", :info, {})

    assert_equal "first", JSON.parse(wait_readable(@reader).gets)["event"]
  end

  test "writes text if stdout isn't the journal's stream" do
    @env["JOURNAL_STREAM"] = "0:1"
    log({}).event("first", :info, {})

    assert_match(/ INFO  first swarm=a/, wait_readable(@reader).gets)
  end

  test "writes text without a journal socket, and refuses log_format: :journal" do
    @path = "#{@path}.gone"
    log({}).event("first", :info, {})

    assert_match(/ INFO  first swarm=a/, wait_readable(@reader).gets)
    error = assert_raises(Skep::Error) { log({ log_format: :journal }) }
    assert_match(/there is none at .*gone: leave log_format out/, error.message)
  end

  test "reports in SKEP_LOST_LINES how many entries journald's full queue has cost" do
    log({})
    20.times { |number| @log.event("many", :info, { number:, text: "x" * 90_000 }) }
    fields = entry
    until fields.key?("SKEP_LOST_LINES")
      fields = entry
      @log.event("more", :info, {})
    end

    assert_operator fields["SKEP_LOST_LINES"].to_i, :>, 0
  end

  private

  def log(options)
    config = Skep::Swarm::Definition::Config.new("a", options, tasks: [{}])
    journal = Skep::Log::Journal.new(path: @path, env: @env)
    @log = Skep::Log::EventLog.new(output: @writer, journal:)
    @log.tap { |log| log.start(config) }
  end

  # Returns the fields that journald would read from the next datagram.
  def entry
    rest = wait_readable(@journald).recv(1_000_000)
    fields = {}
    until rest.empty?
      name, sign, rest = rest.partition(/[=\n]/)
      size = sign == "=" ? rest.index("\n") : rest.slice!(0, 8).unpack1("Q<")
      fields[name] = rest.slice!(0, size + 1).chomp.force_encoding("UTF-8")
    end
    fields
  end
end
