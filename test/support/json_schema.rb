# frozen_string_literal: true

require "json"

# As much of JSON Schema as docs/reference/status.schema.json uses.
#
#   schema = JsonSchema.load("docs/reference/status.schema.json")
#   schema.errors({ "pid" => "x" })   # => ["pid: \"x\" is not of the type integer"]
class JsonSchema
  TYPES = {
    "object" => Hash, "array" => Array, "string" => String, "integer" => Integer,
    "number" => Numeric, "null" => NilClass
  }.freeze
  KNOWN = %w[$schema $defs title type required properties additionalProperties items enum anyOf
             $ref].freeze
  private_constant :TYPES, :KNOWN

  def self.load(path) = new(JSON.parse(File.read(path, encoding: "UTF-8")))

  def initialize(schema)
    @root = schema
  end

  def errors(value, schema = @root, path = "")
    unknown = schema.keys - KNOWN
    raise ArgumentError, "not implemented: #{unknown.join(', ')}" if unknown.any?
    return errors(value, definition(schema["$ref"]), path) if schema["$ref"]
    return any_of(value, schema["anyOf"], path) if schema["anyOf"]

    mismatch(value, schema, path) || members(value, schema, path) + elements(value, schema, path)
  end

  private

  def definition(reference)
    @root.dig(*reference.delete_prefix("#/").split("/")) or raise ArgumentError, reference
  end

  def any_of(value, schemas, path)
    all = schemas.map { |schema| errors(value, schema, path) }
    all.any?(&:empty?) ? [] : all.last
  end

  def mismatch(value, schema, path)
    if schema["enum"] && !schema["enum"].include?(value)
      ["#{path}: #{value.inspect} is not one of #{schema['enum'].join(', ')}"]
    elsif schema["type"] && Array(schema["type"]).none? { |type| type?(value, type) }
      ["#{path}: #{value.inspect} is not of the type #{Array(schema['type']).join(' or ')}"]
    end
  end

  def type?(value, type)
    type == "boolean" ? [true, false].include?(value) : TYPES.fetch(type) === value
  end

  def members(value, schema, path)
    return [] unless value.is_a?(Hash)

    missing = schema.fetch("required", []) - value.keys
    missing.map { |name| "#{path}: #{name} is missing" } + value.flat_map do |name, member|
      errors_of_member(member, schema, name, [path, name].reject(&:empty?).join("."))
    end
  end

  def errors_of_member(member, schema, name, path)
    rule = schema.fetch("properties", {}).fetch(name) { schema.fetch("additionalProperties", true) }
    case rule
    when true then []
    when false then ["#{path} is not in the schema"]
    else errors(member, rule, path)
    end
  end

  def elements(value, schema, path)
    return [] unless value.is_a?(Array) && schema["items"]

    value.each_with_index.flat_map do |element, at|
      errors(element, schema["items"], "#{path}[#{at}]")
    end
  end
end
