# frozen_string_literal: true

require "test_helper"
require "skep/web"

# Properties of the page's looks that can be checked without a browser.
class WebLookTest < Skep::TestCase
  FOLDER = File.expand_path("../../lib/skep/web", __dir__)
  FILES = Dir["#{FOLDER}/{assets,templates}/**/*"].select { |path| File.file?(path) }
  ON = { "ground" => %w[ink soft good bad], "sheet" => %w[ink soft warn bad],
         "hover" => %w[ink soft], "main" => %w[on-main], "calm-pale" => %w[ink soft calm],
         "good-pale" => %w[good], "busy-pale" => %w[busy], "warn-pale" => %w[warn],
         "bad-pale" => %w[bad] }.freeze
  private_constant :FOLDER, :FILES, :ON

  # WCAG 2.1, 1.4.3: 4.5 to 1 for text of the usual size.
  test "text has enough contrast in the light and the dark theme" do
    themes = File.read("#{FOLDER}/assets/page.css", encoding: "UTF-8")
                 .scan(/:root \{(.*?)\}/m).flatten
    assert_equal 2, themes.size
    themes.each do |theme|
      colours = theme.scan(/--([\w-]+): (#\h+)/).to_h
      ON.each do |ground, inks|
        inks.each { |ink| assert_operator contrast(*colours.values_at(ink, ground)), :>=, 4.5, ink }
      end
    end
  end

  test "all files of the page together have at most 112 KB" do
    assert_operator FILES.size, :>=, 15
    assert_operator FILES.sum { |file| File.size(file) }, :<=, 112 * 1024
  end

  test "no script parses text as HTML" do
    scripts = FILES.grep(/\.js\z/).map { |file| File.read(file, encoding: "UTF-8") }.join
    assert_operator scripts.size, :>, 20_000
    refute_match(/(?:inner|outer|Adjacent)HTML|document\.write|\beval\b|Function\(/, scripts)
  end

  private

  def contrast(one, other)
    dark, light = [one, other].map { |colour| luminance(colour) }.sort
    (light + 0.05) / (dark + 0.05)
  end

  def luminance(colour)
    hex = colour.delete("#")
    hex = hex.gsub(/./) { |digit| digit * 2 } if hex.size == 3
    red, green, blue = hex.scan(/../).map do |pair|
      part = pair.hex / 255.0
      part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055)**2.4
    end
    (0.2126 * red) + (0.7152 * green) + (0.0722 * blue)
  end
end
