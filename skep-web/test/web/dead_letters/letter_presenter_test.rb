# frozen_string_literal: true

require "test_helper"
require "json"
require "skep/kafka"
require "skep/web"

# A letter as the page shows it.
class WebLetterPresenterTest < Skep::TestCase
  Presenter = Skep::Web::DeadLetters::LetterPresenter
  OWN = { "skep.topic" => "orders", "skep.partition" => "1", "skep.offset" => "7",
          "skep.error" => "IOError: away", "skep.attempts" => "5", "skep.host" => "here" }.freeze
  private_constant :OWN

  test "a letter of text is shown as text, with its origin and its own headers" do
    shown = shown("1", "größe", { **OWN, "skep.replays" => "2", "trace" => %w[a b] })
    assert_equal({ letter: "dead/0/12", from: "orders/1/7", time: "2026-11-26T07:20:11.005Z",
                   host: "here", attempts: 5, replays: 2, error: "IOError: away", key: "1",
                   headers: { "trace" => "a, b" }, bytes: 7, payload: "größe" }, shown)
  end

  test "what is no text is shown in base64" do
    shown = shown("\xFF", "\x00\xFF", { "h\xFF" => "\xFE" })
    assert_equal ["/w==", "AP8=", { "h\uFFFD" => "\uFFFD" }],
                 shown.values_at(:key_base64, :payload_base64, :headers)
    refute shown.key?(:payload)
  end

  test "long texts are cut, and many headers are left out" do
    shown = shown("ü" * 3_000, "x" * 100_000, { **OWN, "skep.error" => "E: #{"e" * 3_000}",
                                                **(1..99).to_h { |n| ["h#{n}", "v" * 300] } })
    assert_equal [2_001] * 3, shown.values_at(:key, :payload, :error).map(&:size)
    assert_equal [100_000, 50, 201], [shown[:bytes], *sizes(shown[:headers])]
    binary = shown("k", "\xFF" * 100_000, {})
    assert_equal [100_000, 2_001], [binary[:bytes], binary[:payload_base64].size]
  end

  test "a time that browsers can't show, and a number of too many digits, are left out" do
    group = Presenter.group({ error: "E", topic: "orders", count: 1, example: "E",
                              oldest: Time.at(0), newest: Time.at(2**50) })
    assert_equal ["1970-01-01T00:00:00.000Z", nil], group.values_at(:oldest, :newest)
    refute shown("k", "v", { **OWN, "skep.attempts" => "9" * 20 }).key?(:attempts)
  end

  test "each is valid JSON, a tombstone too" do
    shown = shown(nil, nil, {})
    assert_equal({ letter: "dead/0/12", time: "2026-11-26T07:20:11.005Z", replays: 0, error: "",
                   headers: {} }, shown)
    group = { error: "E" * 300, topic: "t" * 300, count: 3, example: "\u00e9" * 300,
              oldest: Time.at(0), newest: nil }
    assert_equal [201, 250, 201], Presenter.group(group).values_at(:error, :from, :example)
                                           .map(&:size)
    assert JSON.generate([shown, Presenter.group(group)])
  end

  private

  def sizes(headers) = [headers.size, headers.values.map(&:size).max]

  def shown(key, payload, headers)
    key, payload = [key, payload].map { |text| text&.b }
    headers = headers.to_h { |name, value| [name, value.is_a?(Array) ? value.map(&:b) : value.b] }
    milliseconds = (Time.utc(2026, 11, 26, 7, 20, 11).to_i * 1_000) + 5
    message = Skep::Kafka::Message.new("dead", 0, 12, key, payload, milliseconds, headers)
    Presenter.letter(Skep::Kafka::Admin::DeadLetterMessage.new(message))
  end
end
