# frozen_string_literal: true

require "test_helper"
require "set"
require "ripper"
require "skep"
require "skep/kafka"
require "skep/cli"
require "skep/cli/manual"

# The pages agree with each other, with the code, and with what the command line takes.
class DocsTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  LINK = /\[[^\]]*\]\(([^()\s]+)\)/
  BLOCK = /^```(\w*)\n(.*?)^```/m
  CALL = /(?<![\w.\/-])skep ([a-z]+)((?: +[^\s|&;<>)#]+)*)/
  private_constant :ROOT, :LINK, :BLOCK, :CALL

  test "every link leads somewhere, to a heading where it names one" do
    broken = pages.flat_map do |page|
      prose(page).scan(LINK).flatten.grep_v(/\A\w+:/).reject { |link| leads?(page, link) }
                 .map { |link| "#{page}: #{link}" }
    end
    assert_empty broken
  end

  test "the index has every guide, under its own question" do
    guides = files("docs/*.md") - %w[docs/README.md docs/design.md]
    index = text("docs/README.md").scan(/^\| (.+) \| \[\w+\]\((\w+\.md)\) \|$/).to_h(&:reverse)

    guides.each { |page|
 assert_equal "# #{index[File.basename(page)]}", text(page).lines.first.chomp }
    assert_empty index.keys.map { |page| "docs/#{page}" } - guides - ["docs/design.md"]
  end

  test "what is shown in Ruby can be read by Ruby" do
    wrong = blocks("ruby").reject { |_, source| Ripper.sexp(source) }
    assert_empty(wrong.map { |page, source| "#{page}: #{source.lines.first}" })
  end

  test "what is shown of the command line is taken by it" do
    code = blocks("console", "sh", "") + pages.flat_map { |page| inline(page) }
    shown = code.flat_map do |page, source|
      source.scan(CALL).map { |name, rest| [page, name, rest.split] }
    end
    assert_operator shown.size, :>, 100
    assert_empty(shown.reject { |_, name, words| taken?(name, words) })
  end

  test "every command is in the command line's page, and every exit code" do
    page = text("docs/cli.md")
    missing = Skep::CLI::COMMANDS.keys.reject { |name| page.match?(/`skep #{name}\b/) }
    codes = page.scan(/^\| (\d) \| (.*) \|$/).to_h { |code, text| [code.to_i, text.delete("`")] }

    assert_empty missing
    assert_equal Skep::CLI::Manual::EXITS, codes
  end

  test "every option of a command is in the page that tells of it" do
    hidden = %w[--help --control --handed-over]
    { "run" => %w[cli options], "restart" => %w[cli supervision], "reload" => %w[supervision],
      "status" => %w[status], "top" => %w[cli], "doctor" => %w[fork_safety], "chaos" => %w[chaos],
      "bench" => %w[bench], "kafka" => %w[kafka], "web" => %w[web],
      "demo" => %w[demo] }.each do |name, names|
      told = names.map { |page| text("docs/#{page}.md") }.join
      options = Skep::CLI::Manual.entry(name).options.map(&:long) - hidden
      assert_empty(options.reject { |option| told.include?(option) }, name)
    end
  end

  test "every option of a swarm is in its table, with its default" do
    rows = table("docs/options.md")
    Skep::Swarm::Option::ALL.each do |name, option|
      assert_includes rows, name.to_s
      assert_equal shown(option.default), rows[name.to_s], name if shown(option.default)
    end
    assert_empty rows.keys - Skep::Swarm::Option::ALL.keys.map(&:to_s)
  end

  test "every option of a Kafka source is in its page, its default in the table" do
    page = text("docs/kafka.md")
    rows = table("docs/kafka.md")
    Skep::Kafka.const_get(:Options).const_get(:DEFAULTS).each do |name, default|
      assert_includes page, "`#{name}", "kafka.md doesn't name #{name}"
      next unless [Integer, Float, Symbol].include?(default.class)

      told = rows[name.to_s].delete(",")
      assert_includes told, default.is_a?(Symbol) ? default.inspect : default.to_s, name
    end
  end

  test "every option of a map is in its page" do
    options = Skep::Work::Map.const_get(:Options)
    named = %i[initialize flags].flat_map { |name| options.instance_method(name).parameters }
    keys = named.filter_map { |kind, name| name if kind == :key }

    assert_includes keys, :in_processes
    assert_empty(keys.reject { |name| text("docs/map.md").match?(/^\| .*`#{name}:`/) })
  end

  private

  def files(pattern) = Dir.glob(pattern, base: ROOT).sort
  def pages = files("{*.md,{docs,examples,ext}/**/*.md}")
  def text(path) = File.read(File.join(ROOT, path), encoding: "UTF-8")
  def prose(page) = text(page).gsub(BLOCK, "").gsub(/`[^`\n]*`/) { |code| code.tr("[]()", "    ") }

  # Page and source of all code of these languages.
  def blocks(*languages)
    pages.flat_map do |page|
      text(page).scan(BLOCK).filter_map { |kind, source|
 [page, source] if languages.include?(kind) }
    end
  end

  # Its code amid text.
  def inline(page)
    text(page).gsub(BLOCK, "").scan(/`(skep [^`\n]+)`/).map { |code| [page, *code] }
  end

  def leads?(page, link)
    path, anchor = link.split("#", 2)
    target = path.empty? ? page : File.join(File.dirname(page), path)
    File.exist?(File.join(ROOT, target)) && (anchor.nil? || anchors(target).include?(anchor))
  end

  # Of headings, as GitHub makes them.
  def anchors(page)
    text(page).gsub(BLOCK, "").scan(/^#+ (.+)$/).flatten.to_set do |heading|
      heading.downcase.gsub(/[^\p{Word}\- ]/, "").tr(" ", "-")
    end
  end

  def taken?(name, words)
    return true if %w[help version].include?(name)

    known = Skep::CLI::COMMANDS[name] && Skep::CLI::Manual.entry(name).options.flat_map(&:names)
    asked = words.take_while { |word| word != "--" }.grep(/\A--?[a-z]/)
    known && (asked.map { |word| word[/\A[^=]+/] } - known).empty?
  end

  # Names of the first column, each with its default.
  def table(page)
    text(page).scan(/^\| (`.+?`) \| (.*?) \|/).each_with_object({}) do |(names, defaults), rows|
      names = names.scan(/`(\w+)`/).flatten
      values = defaults.split(/, /)
      names.each_with_index { |name, at| rows[name] = values[at] || "" }
    end
  end

  # A default as the table has it; nil where it tells it in words.
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
