# frozen_string_literal: true

require "test_helper"
require "kramdown"
require "kramdown-parser-gfm"

# README and docs, rendered as on GitHub: each table, link and code block is recognized.
class DocsRenderTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  BLOCK = /^ *```.*?^ *```$/m
  private_constant :ROOT, :BLOCK

  test "each table of a page is rendered with all its rows" do
    broken = pages.reject do |page|
      html = render(page)
      html.scan("<table>").size == heads(page) && html.scan("<tr>").size == rows(page)
    end
    assert_empty broken
  end

  test "each column of a table but the first has a head" do
    headless = pages.flat_map do |page|
      heads = render(page).scan(%r{<thead>.*?</thead>}m)
      heads.select { |head| head.match?(%r{</th>.*<th>(&nbsp;|\s)*</th>}m) }
           .map { |head| "#{page}: #{head.gsub(/<[^>]+>|\s+/, " ")}" }
    end
    assert_empty headless
  end

  test "no table, link, fence or emphasis is rendered as plain text" do
    left = pages.flat_map do |page|
      text = render(page).gsub(%r{<(pre|code)\b.*?</\1>}m, "").gsub(/<[^>]+>/, "")
      text.lines.grep(/^\s*\||\|---|\]\(|```|\*\*/).map { |line| "#{page}: #{line}" }
    end
    assert_empty left
  end

  test "each image and each file that is linked to exists in the rendered page" do
    targets = pages.flat_map do |page|
      render(page).scan(/(?:src|href)="([^"#:]+)[#"]/).flatten.map { |path| [page, path] }
    end
    refute_empty targets
    assert_empty(targets.reject { |page, path| exist?(page, path) })
  end

  private

  def pages = Dir.glob("{*.md,{docs,examples}/**/*.md}", base: ROOT).sort
  def text(page) = File.read(File.join(ROOT, page), encoding: "UTF-8")
  def lines(page) = text(page).gsub(BLOCK, "").lines.grep(/^\|/)
  def heads(page) = lines(page).grep(/^\|[-:| ]+\|$/).size
  def rows(page) = lines(page).size - heads(page)
  def exist?(page, path) = File.exist?(File.join(ROOT, File.dirname(page), path))

  def render(page)
    @render ||= {}
    @render[page] ||= Kramdown::Document.new(text(page), input: "GFM", hard_wrap: false).to_html
  end
end
