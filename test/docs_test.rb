# frozen_string_literal: true

require "test_helper"
require "set"
require "ripper"
require "skep/cli"
require_relative "../rakelib/command_reference"

# The pages agree with each other, and with what the command line accepts.
class DocsTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  LINK = /\[[^\]]*\]\(([^()\s]+)\)/
  BLOCK = /^```(\w*)\n(.*?)^```/m
  CALL = /(?<![\w.\/-])skep ([a-z]+)((?: +[^\s|&;<>)#]+)*)/
  INDEXES = { "docs/README.md" => "docs/{*,{guides,reference,articles,internals}/*}.md",
              "docs/guides/kafka/README.md" => "docs/guides/kafka/*.md",
              "docs/decisions/README.md" => "docs/decisions/*.md" }.freeze
  private_constant :ROOT, :INDEXES, :LINK, :BLOCK, :CALL

  test "every link leads to a file, and to a heading if it names one" do
    broken = pages.flat_map do |page|
      prose(page).scan(LINK).flatten.grep_v(/\A\w+:/).reject { |link| leads?(page, link) }
                 .map { |link| "#{page}: #{link}" }
    end
    assert_empty broken
  end

  test "README says before its promises what bin/demo and bin/test do, and both are there" do
    section = text("README.md")[/^## From a clone\n(.*?)^## /m, 1].to_s
    assert_operator text("README.md").index("## From a clone"), :<,
                    text("README.md").index("## Five promises")
    %w[bin/demo bin/test].each do |command|
      assert_match(/^\$ #{command}$/, section)
      assert_match(/^\| `#{command}` \| .+ \| .+ \|$/, section)
      assert File.executable?(File.join(ROOT, command)), command
    end
  end

  test "help, the reference and the manual page list skep version" do
    out = StringIO.new
    Skep::CLI.start(["help"], out:)
    assert_match(/^  version +Show/, out.string)
    assert_includes text("docs/reference/cli.md"), "| `skep version` |"
    assert_includes text("skep/man/skep.1"), ".SS skep version"
  end

  test "README's recording is small, moves only where motion is wanted, and shows known events" do
    film = text("docs/images/incidents.svg")
    events = film.scan(/(?:INFO|WARN|ERROR)\u00A0+(\w+)/).flatten.uniq
    moving = film[/^@media \(prefers-reduced-motion: no-preference\) \{\n.*?^\}$/m]
    assert_operator film.bytesize, :<, 200_000
    assert_operator moving.scan("animation:").size, :>, 10
    assert_equal moving.scan("animation:"), film.scan("animation:")
    assert_operator events.size, :>, 3
    assert_empty(events.reject { |name| text("docs/reference/events.md").include?("`#{name}`") })
  end

  test "every bracket of a link is closed" do
    open = pages.flat_map do |page|
      prose(page).split(/\n\s*\n/).select { |text| text.count("[(") != text.count("])") }
                 .map { |text| "#{page}: #{text.lines.first}" }
    end
    assert_empty open
  end

  test "the index of docs links to each page once" do
    listed = INDEXES.flat_map do |index, pattern|
      linked = prose(index).scan(LINK).flatten.map { |link| resolved(index, link) } & files(pattern)
      rows = text(index).scan(/^(?:\||-) \[[^\]]+\]\(([^)]+)\)/).flatten
      assert_empty rows.tally.select { |_, times| times > 1 }, index
      linked
    end
    assert_empty files("docs/**/*.md") - INDEXES.keys - listed
  end

  test "every table has a head: no empty line splits one" do
    headless = pages.flat_map do |page|
      tables = text(page).gsub(BLOCK, "").split(/^(?!\|).*\n/).reject(&:empty?)
      tables.reject { |table| table.lines[1].to_s.match?(/\A\|[-| ]+\|$/) }
            .map { |table| "#{page}: #{table.lines.first}" }
    end
    assert_empty headless
  end

  test "every row has as many cells as its table's head" do
    uneven = pages.flat_map do |page|
      text(page).gsub(BLOCK, "").split(/^(?!\|).*\n/).reject(&:empty?).flat_map do |table|
        rows = table.lines.map { |row| row.gsub(/`[^`]*`/, "").gsub("\\|", "").count("|") }
        table.lines.zip(rows).reject { |_, cells| cells == rows.first }
             .map { |row,| "#{page}: #{row}" }
      end
    end
    assert_empty uneven
  end

  test "a static member has one name on all pages" do
    names = pages.flat_map { |page| text(page).scan(/SWARM-HOST[A-Z-]*/) }
    assert_empty names.grep_v(/\ASWARM-HOSTNAME(?:-NODE(?:-THREAD)?)?\z/)
  end

  test "every example in Ruby has valid syntax" do
    wrong = blocks("ruby").reject { |_, source| Ripper.sexp(source) }
    assert_empty(wrong.map { |page, source| "#{page}: #{source.lines.first}" })
  end

  test "a swarm file that requires anything requires each part of skep that it names" do
    files = blocks("ruby").select { |_, source| source =~ /^require/ && source =~ /^Skep\.swarm/ }
    missing = files.flat_map do |page, source|
      named = %w[Kafka Rails Web].select { |part| source.include?("Skep::#{part}") }
      named.reject { |part| source.include?("require \"skep/#{part.downcase}") }
           .map { |part| "#{page}: Skep::#{part}" }
    end
    assert_operator files.size, :>, 5
    assert_empty missing
  end

  test "every example of a command has known names and options" do
    code = blocks("console", "sh", "") + pages.flat_map { |page| inline(page) }
    shown = code.flat_map do |page, source|
      source.scan(CALL).map { |name, rest| [page, name, rest.split] }
    end
    assert_operator shown.size, :>, 100
    assert_empty(shown.reject { |_, name, words| accepted?(name, words) })
  end

  test "every command is in the command line's page, and every exit code in theirs" do
    page = text("docs/reference/cli.md")
    missing = Skep::CLI.commands.reject { |name| page.match?(/`skep #{name}\b/) }
    codes = text("docs/reference/exit_codes.md")
            .scan(/^\| (\d+) \| (.*) \|$/).to_h { |code, text| [code.to_i, text.delete("`")] }

    assert_empty missing
    assert_equal CommandReference::EXITS, codes
  end

  private

  def files(pattern) = Dir.glob(pattern, base: ROOT).sort
  def pages = files("{*.md,{docs,examples,ext}/**/*.md}")
  def text(path) = File.read(File.join(ROOT, path), encoding: "UTF-8")
  def prose(page) = text(page).gsub(BLOCK, "").gsub(/`[^`\n]*`/) { |code| code.tr("[]()", "    ") }

  # Returns page and source of all code in these languages.
  def blocks(*languages)
    pages.flat_map do |page|
      text(page).scan(BLOCK).filter_map do |kind, source|
        [page, source] if languages.include?(kind)
      end
    end
  end

  # Returns the commands in a page's inline code.
  def inline(page)
    text(page).gsub(BLOCK, "").scan(/`(skep [^`\n]+)`/).map { |code| [page, *code] }
  end

  def resolved(page, link)
    File.expand_path(File.join("/", File.dirname(page), link[/\A[^#]*/])).delete_prefix("/")
  end

  def leads?(page, link)
    path, anchor = link.split("#", 2)
    target = path.empty? ? page : File.join(File.dirname(page), path)
    File.exist?(File.join(ROOT, target)) && (anchor.nil? || anchors(target).include?(anchor))
  end

  # Returns the anchors of a page's headings, as GitHub makes them.
  def anchors(page)
    text(page).gsub(BLOCK, "").scan(/^#+ (.+)$/).flatten.to_set do |heading|
      heading.downcase.gsub(/[^\p{Word}\- ]/, "").tr(" ", "-")
    end
  end

  def accepted?(name, words)
    return true if %w[help version].include?(name)

    known = Skep::CLI.commands.include?(name) &&
            CommandReference.entry(name).options.flat_map(&:names)
    asked = words.take_while { |word| word != "--" }.grep(/\A--?[a-z]/)
    known && (asked.map { |word| word[/\A[^=]+/] } - known).empty?
  end
end
