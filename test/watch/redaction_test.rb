# frozen_string_literal: true

require "test_helper"
require "skep/watch"

class RedactionTest < Skep::TestCase
  test "hides secrets by name, at any depth" do
    facts = { "sasl.password" => "a", list: [{ "ssl.key.pem" => "b" }], "sasl.username" => "me" }

    assert_equal({ "sasl.password" => "[secret]", list: [{ "ssl.key.pem" => "[secret]" }],
                   "sasl.username" => "me" },
                 Skep::Watch::Redaction.of(facts))
  end

  test "hides passwords in URLs, and nothing else of them" do
    assert_equal "lost redis://me:[secret]@host:1/2 and http://host/a:b@c",
                 Skep::Watch::Redaction.of("lost redis://me:hunter2@host:1/2 and http://host/a:b@c")
  end
end
