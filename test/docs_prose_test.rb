# frozen_string_literal: true

require "test_helper"

# README.md, CHANGELOG.md and the like, docs and the pages of examples.
class DocsProseTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  BLOCK = /^ *```.*?^ *```$/m
  private_constant :ROOT, :BLOCK

  test "each page has one title, at its top" do
    pages = Dir.glob("{*.md,{docs,examples}/**/*.md}", base: ROOT).sort
    wrong = pages.reject do |page|
      text = File.read(File.join(ROOT, page), encoding: "UTF-8").gsub(BLOCK, "")
      text.start_with?("# ") && text.scan(/^# /).size == 1
    end
    assert_empty wrong
  end
end
