# frozen_string_literal: true

# A page of the docs, followed to the letter: its programs, and what it tells to type.
#
#   page = Page.new("README.md")
#   page.programs           # => { "hello.rb" => "# hello.rb\nSkep.swarm …" }, blocks that begin so
#   page.snippets           # => other Ruby of it
#   page.commands           # => ["gem build …", …], each line after a $
class Page
  BLOCK = /^```(\w+)\n(.*?)^```/m

  def initialize(path)
    @blocks = File.read(path, encoding: "UTF-8").scan(BLOCK)
  end

  def programs = ruby.grep(/\A# \w+\.rb\n/).to_h { |source| [source[/\w+\.rb/], source] }
  def snippets = ruby.grep_v(/\A# \w+\.rb\n/)
  def commands = of("console").flat_map { |lines| lines.scan(/^\$ (.+)$/) }.flatten

  private

  def ruby = of("ruby")
  def of(kind) = @blocks.filter_map { |language, source| source if language == kind }
end
