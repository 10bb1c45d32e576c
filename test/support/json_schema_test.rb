# frozen_string_literal: true

require "test_helper"
require_relative "json_schema"

class JsonSchemaTest < Skep::TestCase
  PAGES = File.expand_path("../../docs/reference", __dir__)
  private_constant :PAGES

  test "reports a wrong type, a missing name, a wrong word and an extra name, each with its path" do
    schema = JsonSchema.new(
      "type" => "object", "required" => %w[pid], "additionalProperties" => false,
      "properties" => { "pid" => { "type" => "integer" }, "state" => { "enum" => %w[up down] },
                        "list" => { "type" => "array", "items" => { "$ref" => "#/$defs/flag" } } },
      "$defs" => { "flag" => { "type" => %w[boolean null] } }
    )
    assert_empty schema.errors("pid" => 1, "state" => "up", "list" => [true, nil])
    assert_equal ["pid: \"x\" is not of the type integer"], schema.errors("pid" => "x")
    assert_equal [": pid is missing"], schema.errors({})
    assert_equal ["state: \"off\" is not one of up, down",
                  "list[1]: 0 is not of the type boolean or null", "more is not in the schema"],
                 schema.errors("pid" => 1, "state" => "off", "list" => [true, 0], "more" => 1)
  end

  test "the document in the page of the status matches the schema" do
    page = File.read("#{PAGES}/status.md", encoding: "UTF-8")
    document = JSON.parse(page[/^```json\n(.*?)^```/m, 1])
    assert_empty JsonSchema.load("#{PAGES}/status.schema.json").errors(document)
  end
end
