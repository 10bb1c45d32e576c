# frozen_string_literal: true

require "test_helper"
require_relative "../rakelib/command_line_files"

class CommandLineFilesTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  private_constant :ROOT

  CommandLineFiles::ALL.each_key do |path|
    test "#{path} is up to date; otherwise run `rake man completions`" do
      assert_equal CommandLineFiles.text(path), File.read("#{ROOT}/#{path}", encoding: "UTF-8")
    end
  end

  test "each of them is a file of the gem" do
    files = Gem::Specification.load("#{ROOT}/skep/skep.gemspec").files
    assert_empty CommandLineFiles::ALL.keys - files.map { |path| "skep/#{path}" }
  end
end
