# frozen_string_literal: true

require "test_helper"
require "tmpdir"

# The files of the gems. That they install and work alone is shown by
# test/scenario/the_tutorial_leads_to_a_swarm.rb and skep_reshare_works_as_an_installed_gem.rb.
class GemTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  KINDS = %w[lib/ ext/skep/ exe/skep sig/ completions/ man/skep.1 README.md CHANGELOG.md
             LICENSE].freeze
  RESHARE = %w[lib/skep/reshare.rb lib/skep/reshare/ lib/skep/plugin/reshare.rb ext/skep_reshare/
               LICENSE].freeze
  RUNS = %w[lib/skep/web/assets/scripts/page.js completions/_skep man/skep.1 exe/skep
            ext/skep/extconf.rb ext/skep/depend].freeze
  private_constant :ROOT, :KINDS, :RESHARE, :RUNS

  test "has all files of lib and ext" do
    there = Dir.glob("{lib,ext}/**/*", base: ROOT).select { |path| File.file?("#{ROOT}/#{path}") }

    assert_empty there.grep_v(/\.(?:so|md)\z/) - files - files("skep-reshare")
    assert_empty RUNS - files
    assert_empty files & files("skep-reshare") - ["LICENSE"]
  end

  test "has only files that are used at run time, and three texts" do
    assert_empty(files.reject { |path| path.start_with?(*KINDS) })
    assert_empty files.grep(%r{\.(?:so|o|png)\z|(?:\A|/)(?:test|tmp|vendor)/})
    assert_equal %w[CHANGELOG.md LICENSE README.md], files.grep_v(%r{/}).sort
  end

  test "skep-reshare has only its own files, and needs skep of its version" do
    assert_empty(files("skep-reshare").reject { |path| path.start_with?(*RESHARE) })
    needed = spec("skep-reshare").runtime_dependencies
    assert_equal [["skep", "= #{Skep::VERSION}"]],
                 needed.map { |one| [one.name, one.requirement.to_s] }
  end

  test "needs no other gem" do
    assert_empty spec.runtime_dependencies
    assert_equal %w[skep], spec.executables
  end

  test "both are built without a warning" do
    Dir.mktmpdir do |directory|
      %w[skep skep-reshare].each do |name|
        build = ["gem", "build", "#{name}.gemspec", "--output", "#{directory}/#{name}.gem"]
        out, err, status = run_command({}, "sh", "-c", "cd #{ROOT} && #{build.join(" ")}",
                                       timeout: 30)
        assert_predicate status, :success?, err
        assert_empty "#{out}#{err}".lines.grep(/WARNING/)
      end
    end
  end

  private

  def spec(name = "skep") = Gem::Specification.load("#{ROOT}/#{name}.gemspec")
  def files(name = "skep") = spec(name).files
end
