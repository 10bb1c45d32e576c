# frozen_string_literal: true

require "test_helper"
require "skep"
require "skep/kafka"
require "skep/cli"
require_relative "../rakelib/command_reference"

# Every option that something takes is on its page, with its default.
class DocsOptionsTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  private_constant :ROOT

  test "every public method of a node is in its page" do
    internal = %i[leave beat_every inspect]
    methods = Skep::Swarm::Node.public_instance_methods(false).grep_v(/\A__/) - internal

    page = text("docs/reference/node.md")
    assert_empty(methods.reject { |name| page.match?(/`(?:node\.)?#{name[/\w+/]}/) })
  end

  test "each method for a swarm file is in the page of the swarm" do
    described = %i[name options tasks listeners inspect run]
    methods = Skep::Swarm.public_instance_methods(false).grep_v(/\A__/) - described
    page = text("docs/reference/swarm.md")
    assert_operator methods.size, :>, 5
    assert_empty(methods.reject { |name| page.match?(/^\| `#{name}\b/) })
  end

  test "every option of a command is in its pages" do
    hidden = %w[--help --control]
    pages = { "run" => %w[reference/cli reference/options],
              "restart" => %w[reference/cli guides/supervision], "reload" => %w[guides/supervision],
              "status" => %w[reference/status], "top" => %w[reference/cli],
              "events" => %w[reference/cli],
              "doctor" => %w[articles/fork_safety], "chaos" => %w[guides/chaos],
              "profile" => %w[reference/cli], "kafka" => %w[guides/kafka/tooling],
              "web" => %w[guides/web] }
    pages.each do |name, names|
      all = names.map { |page| text("docs/#{page}.md") }.join
      options = CommandReference.entry(name).options.map(&:long) - hidden
      assert_empty(options.reject { |option| all.include?(option) }, name)
    end
  end

  test "every option of a swarm is in its table, with its default" do
    rows = table("docs/reference/options.md")
    Skep::Swarm::Definition::Config::Options::ALL.each do |name, option|
      assert_includes rows, name.to_s
      assert_equal shown(option.default), rows[name.to_s], name if shown(option.default)
    end
    assert_empty rows.keys - Skep::Swarm::Definition::Config::Options::ALL.keys.map(&:to_s)
  end

  test "every option of a Kafka source is in its page, its default in the table" do
    page = text("docs/guides/kafka/README.md")
    rows = table("docs/guides/kafka/README.md")
    Skep::Kafka::Config::SourceOptions.const_get(:DEFAULTS).each do |name, default|
      assert_includes page, "`#{name}", "the page of Kafka doesn't name #{name}"
      next unless [Integer, Float, Symbol].include?(default.class)

      cell = rows[name.to_s].delete(",")
      assert_includes cell, default.is_a?(Symbol) ? default.inspect : default.to_s, name
    end
  end

  test "every option of a map is in its page" do
    options = Skep::Work::Map.const_get(:Options)
    named = %i[initialize assign_flags].flat_map { |name| options.instance_method(name).parameters }
    keys = named.filter_map { |kind, name| name if kind == :key }

    assert_includes keys, :in_processes
    assert_empty(keys.reject { |name| text("docs/reference/map.md").match?(/^\| .*`#{name}:`/) })
  end

  private

  def text(path) = File.read(File.join(ROOT, path), encoding: "UTF-8")

  # Names of the first column, each with its default.
  def table(page)
    text(page).scan(/^\| (`.+?`) \| (.*?) \|/).each_with_object({}) do |(names, defaults), rows|
      names = names.scan(/`(\w+)`/).flatten
      values = defaults.split(/, /)
      names.each_with_index { |name, at| rows[name] = values[at] || "" }
    end
  end

  # Returns a default as the table has it; nil if the table describes it in words.
  def shown(default)
    case default
    when Proc then nil
    when Float then default.to_i.to_s
    when Symbol then "`#{default.inspect}`"
    when Array then default.first.to_s
    when nil then nil
    else default.to_s
    end
  end
end
