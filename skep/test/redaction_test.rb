# frozen_string_literal: true

require "test_helper"
require "skep/redaction"

class RedactionTest < Skep::TestCase
  HIDDEN = {
    # passwords in URLs
    "https://u:hun@ter2@h/" => "https://u:[secret]@h/",
    "amqp://u:hun/ter2@h" => "amqp://u:[secret]@h",
    "redis://:hunter2@h:6379/0" => "redis://:[secret]@h:6379/0",
    "smtp://me@example.com:hunter2@h" => "smtp://me@example.com:[secret]@h",
    "from redis://u:hunter2@a to redis://u:hunter2@b" =>
      "from redis://u:[secret]@a to redis://u:[secret]@b",
    "redis://u:hunter2@a,redis://u:hunter2@b" => "redis://u:[secret]@a,redis://u:[secret]@b",
    'u:hun?ter2#@x amqp://u:hun?ter2#@h' => 'u:hun?ter2#@x amqp://u:[secret]@h',
    # named values
    "password=hunter2" => "password=[secret]",
    "host=h password=hunter2 user=u" => "host=h password=[secret] user=u",
    "DB_PASSWORD: hunter2, next" => "DB_PASSWORD: [secret], next",
    "{:password=>\"hun ter2\", :user=>\"u\"}" => "{:password=>\"[secret]\", :user=>\"u\"}",
    '{"passphrase":"hun\"ter2","user":"u"}' => '{"passphrase":"[secret]","user":"u"}',
    "?pwd=hunter2&user=u" => "?pwd=[secret]&user=u",
    "?access_token=hunter2&user=u" => "?access_token=[secret]&user=u",
    "private_key: 'hunter2'" => "private_key: '[secret]'",
    "aws_secret_access_key = hunter2" => "aws_secret_access_key = [secret]",
    "Authorization: Bearer hunter2" => "Authorization: [secret]",
    "cookie: a=hunter2; b=hunter2\nx" => "cookie: [secret]\nx",
    'PlainLoginModule required username="u" password="hunter2";' =>
      'PlainLoginModule required username="u" password="[secret]";',
    "mysql: root:hunter2@tcp(h:3306)/shop" => "mysql: root:[secret]@tcp(h:3306)/shop",
    "mysql:host=h;password=hunter2;port=1" => "mysql:host=h;password=[secret];port=1"
  }.freeze
  SHOWN = ["http://host:8080/users/me@example.com", "http://host/a:b@c", "http://[::1]:9292/a@b",
           "ssh://git@host/path", "unexpected token: end of input", "passed=3", "at 10:20: me@home",
           "the password is wrong", "password=", "keys=3", "a=b: c", "", "\u6ce8\u6587=1"].freeze
  NAMES = %w[sasl.password ssl.key.pem passphrase private_key access_key authorization
             HTTP_AUTHORIZATION cookie set-cookie pwd pw db_pw DB_PWD api-key apikey client_secret
             refresh_token sasl.jaas.config redis_pass credentials aws_access_key].freeze

  test "hides secrets by name, at any depth" do
    NAMES.each do |name|
      facts = { name => "a", list: [{ name.to_sym => "b" }], "none" => { name => nil } }
      assert_equal({ name => "[secret]", list: [{ name.to_sym => "[secret]" }],
                     "none" => { name => nil } }, redacted(facts))
    end
    facts = { "sasl.username" => "me", passed: 1, "spwn" => 2, keys: 3, "author" => "ada" }
    assert_equal facts, redacted(facts)
  end

  test "hides passwords in text, and nothing else of it" do
    HIDDEN.each do |text, clean|
      assert_equal clean, redacted(text)
      assert_equal clean, redacted(clean), "it is hidden twice"
    end
    assert_equal "lost redis://me:[secret]@host:1/2 and http://host/a:b@c",
                 redacted("lost redis://me:hunter2@host:1/2 and http://host/a:b@c")
  end

  test "numbers by names of works and topics are no secrets, a number of a fact may be" do
    facts = { from: 2, to: 5, works: { "tokens" => 3, "password_mails" => 2 },
              partitions: { "tokens" => [0, 1], "api_key" => [] } }
    assert_equal facts, Skep::Redaction.of(facts)
    assert_equal({ token: "[secret]", user: { password: "[secret]", name: "ada" } },
                 Skep::Redaction.of({ token: 123_456, user: { password: 1234, name: "ada" } }))
    assert_equal({ db: { password: "[secret]", port: 5432 } },
                 Skep::Redaction.of({ db: { password: 1234, port: 5432 } }))
    assert_equal({ works: { "redis://u:[secret]@h" => 3 } },
                 Skep::Redaction.of({ works: { "redis://u:hunter2@h" => 3 } }))
  end

  test "leaves text without a secret unchanged" do
    SHOWN.each { |text| assert_equal text, redacted(text) }
  end

  test "hides passwords in the keys of hashes" do
    facts = { "redis://u:hunter2@h" => 1, "redis://u:hunter2@i": 2, nil => 3, 4 => 5, "\xFF" => 6 }
    assert_equal({ "redis://u:[secret]@h" => 1, "redis://u:[secret]@i": 2, nil => 3, 4 => 5 },
                 redacted(facts).reject { |_, value| value == 6 })
  end

  test "accepts any bytes and any encoding" do
    assert_equal "\u00e9 password=[secret]",
                 redacted("\u00e9 password=hunter2".encode(Encoding::UTF_16LE))
    assert_equal "? password=[secret]", redacted("\xFF password=hunter2").scrub
    assert_equal "password=[secret] \xFF".b, redacted("password=hunter2 \xFF".b).b
  end

  test "reads a text once, however long and hostile it is" do
    ["a" * 1_000_000, "password" * 125_000, "://a:" * 200_000, "a:" * 500_000, "a@tcp(:" * 3_000,
     "password=\"" * 100_000, "token" * 200_000, "=" * 500_000, "cookie:" * 100_000]
      .each { |text| assert_kind_of String, redacted(text) }
  end

  private

  def redacted(value) = Skep::Redaction.of(value)
end
