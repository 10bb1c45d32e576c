# frozen_string_literal: true

require "test_helper"
require "tmpdir"

# The gem's files. That it installs and works alone is shown by
# test/scenario/the_tutorial_leads_to_a_swarm.rb.
class GemTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  KINDS = %w[lib/ ext/skep/ exe/skep sig/ completions/ man/skep.1 README.md CHANGELOG.md
             LICENSE].freeze
  RUNS = %w[lib/skep/web/assets/scripts/page.js completions/_skep man/skep.1 exe/skep
            ext/skep/extconf.rb ext/skep/depend].freeze
  private_constant :ROOT, :KINDS, :RUNS

  test "has all files of lib and ext" do
    there = Dir.glob("{lib,ext}/**/*", base: ROOT).select { |path| File.file?("#{ROOT}/#{path}") }

    assert_empty there.grep_v(/\.(?:so|md)\z/) - files
    assert_empty RUNS - files
  end

  test "has only files that are used at run time, and three texts" do
    assert_empty(files.reject { |path| path.start_with?(*KINDS) })
    assert_empty files.grep(%r{\.(?:so|o|png)\z|(?:\A|/)(?:test|tmp|vendor)/})
    assert_equal %w[CHANGELOG.md LICENSE README.md], files.grep_v(%r{/}).sort
  end

  test "needs no other gem" do
    assert_empty spec.runtime_dependencies
    assert_equal %w[skep], spec.executables
  end

  test "is built without a warning" do
    Dir.mktmpdir do |directory|
      built = ["gem", "build", "skep.gemspec", "--output", "#{directory}/skep.gem"]
      out, err, status = run_command({}, "sh", "-c", "cd #{ROOT} && #{built.join(" ")}",
timeout: 30)

      assert_predicate status, :success?, err
      assert_empty "#{out}#{err}".lines.grep(/WARNING/)
    end
  end

  private

  def spec = @spec ||= Gem::Specification.load("#{ROOT}/skep.gemspec")
  def files = spec.files
end
