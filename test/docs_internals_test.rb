# frozen_string_literal: true

require "test_helper"

# docs/internals and docs/decisions name files and classes that exist.
class DocsInternalsTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  FILE = %r{`([a-z_0-9/]+\.rb)`}
  CONSTANT = /`((?:[A-Z]\w+::)*[A-Z]\w*[a-z]\w*)(?:#\w+[?!]?)?`/
  FOREIGN = %w[Queue Random Timeout].freeze # Ruby's own
  private_constant :ROOT, :FILE, :CONSTANT, :FOREIGN

  test "each file named in docs/internals is one of lib or of the tests" do
    files = Dir.glob("{skep*/lib,skep*/test,test}/**/*.rb", base: ROOT).map { |file| "/#{file}" }
    missing = named("docs/internals/*.md", FILE).reject do |name|
      files.any? { |file| file.end_with?("/#{name}") }
    end
    assert_empty missing
  end

  test "each class named in docs/internals and docs/decisions is defined in lib" do
    files = Dir.glob("#{ROOT}/skep*/lib/**/*.rb")
    code = files.map { |file| File.read(file, encoding: "UTF-8") }.join
    names = named("docs/{internals,decisions}/*.md", CONSTANT).map { |name| name[/\w+\z/] }
    names -= FOREIGN
    undefined = names.uniq.reject do |name|
      code.match?(/(?:class|module) (?:\w+::)*#{name}\b|\b#{name} = (?:Struct|Class)/)
    end
    assert_operator names.size, :>, 30
    assert_empty undefined
  end

  private

  def named(pages, pattern)
    Dir.glob(pages, base: ROOT).flat_map do |page|
      File.read(File.join(ROOT, page), encoding: "UTF-8").scan(pattern).flatten
    end.uniq
  end
end
