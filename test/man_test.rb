# frozen_string_literal: true

require "test_helper"
require_relative "../rakelib/command_line_files"

# skep/man/skep.1, checked by the programs that show manual pages.
class ManTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  private_constant :ROOT

  test "has every command, option and exit code" do
    text = page.gsub("\\-", "-")
    CommandReference.entries.each do |entry|
      assert_includes text, ".SS #{entry.usage}\n"
      entry.options.flat_map(&:names).each { |name| assert_includes text, name }
    end
    CommandReference::EXITS.each_key { |code| assert_includes text, ".B #{code}\n" }
  end

  { "man" => %w[man --warnings=w -l], "mandoc" => %w[mandoc -T lint -W error] }.each do |tool, how|
    test "#{tool} has no warning" do
      missing tool unless system("command -v #{tool} > /dev/null")

      env = { "MANPAGER" => "cat", "LC_ALL" => "C.UTF-8" }
      out, err, status = run_command(env, *how, "#{ROOT}/skep/man/skep.1", timeout: 30)
      assert_predicate status, :success?, out + err
      assert_equal "", err
    end
  end

  private

  def page = File.read("#{ROOT}/skep/man/skep.1", encoding: "UTF-8")
end
