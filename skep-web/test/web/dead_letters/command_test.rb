# frozen_string_literal: true

require "test_helper"
require "skep/web"

# What a visitor's form asks for.
class WebDeadLettersCommandTest < Skep::TestCase
  # Keeps what it is called with.
  class Letters
    attr_reader :called

    def replay(**options) = (@called = [:replay, options]) && { replayed: 1 }
    def purge(**options) = (@called = [:purge, options]) && { deleted: 1 }
  end

  test "a replay gets its filter and its options" do
    letters = Letters.new
    one = command("action" => "replay", "error" => "Timeout", "from" => "orders", "key" => "",
                  "rate" => "2.5", "limit" => 10, "max_replays" => "4", "dry_run" => true)
    assert_equal({ replayed: 1 }, one.call(letters))
    assert_equal [:replay, { error: "Timeout", topic: "orders", rate: 2.5, limit: 10,
                             max_replays: 4, dry_run: true }], letters.called
    assert_equal "replay error=\"Timeout\" from=\"orders\" limit=10 rate=2.5 max_replays=4 dry_run",
                 one.to_s
    assert_equal({ action: "replay", dry_run: true, error: "Timeout", from: "orders", rate: 2.5,
                   limit: 10, max_replays: 4 }, one.facts)
  end

  test "a purge without a filter is of all letters" do
    letters = Letters.new
    assert_equal({ deleted: 1 }, command("action" => "purge", "topic" => "dead").call(letters))
    assert_equal [:purge, { dry_run: false }], letters.called
  end

  test "the log shows a line break of a filter as \\n" do
    assert_equal "purge key=\"a\\nb\"", command("action" => "purge", "key" => "a\nb").to_s
  end

  test "a field that is wrong or unknown is refused" do
    { {} => /no action nil/, { "action" => "list" } => /no action "list"/,
      { "rate" => 0 } => /rate must be/, { "rate" => "1e999" } => /rate must be/,
      { "rate" => "x" } => /rate must be/, { "rate" => [1] } => /rate must be/,
      { "limit" => -1 } => /limit must be a whole number/, { "limit" => 1.5 } => /limit must/,
      { "max_replays" => "0" } => /max_replays must/, { "dry_run" => "yes" } => /dry_run must/,
      { "dryrun" => true } => /replay has no "dryrun"/, { "error" => {} } => /error must be a text/,
      { "key" => "\xED\xB0\x80" } => /key must be a text/,
      { "key" => "k" * 1_001 } => /key must be a text of at most 1000/,
      { "action" => "purge", "rate" => 1 } => /purge has no "rate"/ }.each do |fields, sentence|
      fields = { "action" => "replay", **fields } unless fields.empty?
      error = assert_raises(Skep::Web::RequestRefused) { command(**fields) }
      assert_match sentence, error.message
      assert_equal 400, error.status
    end
  end

  private

  def command(**fields) = Skep::Web::DeadLetters::Command.new(fields)
end
