# frozen_string_literal: true

require "test_helper"
require "skep/web"

# The difference of two hashes, RFC 7396.
class WebJsonMergePatchTest < Skep::TestCase
  Patch = Skep::Web::Live::JsonMergePatch

  test "a patch has what was added, changed and removed, nothing else" do
    before = { "a" => 1, "b" => { "c" => 1, "d" => 2 }, "e" => [1], "f" => {} }
    after = { "b" => { "c" => 1, "d" => 3 }, "e" => [2], "f" => {}, "g" => { "h" => 1 } }
    patch = { "a" => nil, "b" => { "d" => 3 }, "e" => [2], "g" => { "h" => 1 } }
    assert_equal patch, Patch.between(before, after)
    assert_empty Patch.between(after, after)
  end

  test "nil is removed at any depth" do
    assert_equal({ "a" => [{ "b" => 1 }] }, Patch.without_nil({ "a" => [{ "b" => 1, "c" => nil }],
                                                                "d" => nil }))
  end
end
