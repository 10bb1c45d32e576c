# frozen_string_literal: true

require "test_helper"

# README.md, CHANGELOG.md and the like, docs and the pages of examples are plain English: short
# sentences, short cells, headings, the field's words.
class DocsProseTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  SENTENCE = 25
  CELL = 25
  # The words of prose between two headings, at most.
  SECTION = 400
  BLOCK = /^ *```.*?^ *```$/m
  ITEM = /^ *(?:[-*>]|\d+\.) +/
  BANNED = [
    /\bwho(?:ever)?\b/i, /\b(?:no|any|some|every)body\b/i, /\b(?:tells?|told|telling)\b/i,
    /\bin hand\b/i,
    /\banew\b/i, /\btaken? for\b/i, /\btwins?\b/i, /\bhouses?\b/i, /\brooms?\b/i, /\bguests?\b/i,
    /\bgo(?:es)? on\b/i, /\bby (?:itself|themselves)\b/i, /\bkeeper\b/i, /\blaws?\b/i
  ].freeze
  private_constant :ROOT, :SENTENCE, :CELL, :SECTION, :BLOCK, :ITEM, :BANNED

  test "no sentence has more than 25 words" do
    long = pages.flat_map do |page|
      sentences(page).select { |sentence| words(sentence) > SENTENCE }
                     .map { |sentence| "#{page}: (#{words(sentence)}) #{sentence}" }
    end
    assert_empty long, long.join("\n")
  end

  test "no cell of a table has more than 25 words" do
    long = pages.flat_map do |page|
      rows(page).flat_map { |row| cells(row) }.select { |cell| words(cell) > CELL }
                .map { |cell| "#{page}: (#{words(cell)}) #{cell}" }
    end
    assert_empty long, long.join("\n")
  end

  test "each page has one title, and a heading at least every 400 words" do
    wrong = (pages - ["CHANGELOG.md"]).reject do |page|
      text = without_code(text(page))
      text.start_with?("# ") && text.scan(/^# /).size == 1 &&
        text.split(/^#+ .*$/).none? { |section| words(section.gsub(/^\|.*$/, "")) > SECTION }
    end
    assert_empty wrong
  end

  test "no page has a banned word" do
    found = pages.flat_map do |page|
      plain(page).lines.grep(Regexp.union(BANNED)).map { |line| "#{page}: #{line.chomp}" }
    end
    assert_empty found, found.join("\n")
  end

  test "README has 1,000 to 1,200 words beside its code" do
    assert_includes 1_000..1_200, words(plain("README.md").gsub(/^\|[-:| ]+\|$/, ""))
  end

  test "sentences are found between code, tables, lists and links" do
    sample = <<~MARKDOWN
      # A title that counts for nothing

      One `skep run --inline` [with a link](../page.md#anchor). Two e.g. this?
      - three
        and more: four
      - `five`

      ```ruby
      not.this
      ```
      | nor | this |
      |---|---|
    MARKDOWN
    assert_equal ["One code with a link.", "Two e.g. this?", "three and more: four", "code"],
                 split(sample)
  end

  private

  def pages = Dir.glob("{*.md,{docs,examples}/**/*.md}", base: ROOT).sort
  def text(page) = File.read(File.join(ROOT, page), encoding: "UTF-8")

  def without_code(text) = text.gsub(BLOCK, "")
  def plain(page) = simple(text(page))

  # Inline code and the targets of links are not checked.
  def simple(text)
    without_code(text).gsub(/<!--.*?-->/m, "").gsub(/``.+?``|`[^`]*`/m, "code")
                      .gsub(/!?\[([^\]]*)\]\([^()]*\)/m, "\\1").delete("*")
  end

  def sentences(page) = split(text(page))

  def split(markdown)
    prose = simple(markdown).gsub(/^(?:#|\|).*$/, "\n")
    blocks = prose.gsub(ITEM, "\n\n").split(/\n\s*\n/)
    blocks.flat_map { |block| block.split.join(" ").split(/(?<=[.?!])(?<!e\.g\.|i\.e\.)["')]* +/) }
          .reject(&:empty?)
  end

  def rows(page)
    simple(text(page)).gsub("\\|", "/").lines.grep(/^\|/).grep_v(/^\|[-:| ]+\|$/)
  end

  def cells(row) = row.strip.delete_prefix("|").delete_suffix("|").split("|")
  def words(text) = text.split.grep(/[[:alnum:]]/).size
end
