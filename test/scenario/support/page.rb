# frozen_string_literal: true

# A page of the docs, for a scenario that runs its programs and its commands.
#
#   page = Page.new("README.md")
#   page.programs           # => { "config/skep.rb" => "# config/skep.rb\n…" }, by file
#   page.commands           # => ["gem build …", …], each line after a $
#   page.output(/pattern/)  # => the block of output that matches
class Page
  BLOCK = /^```(\w*)\n(.*?)^```/m

  def initialize(path)
    @blocks = File.read(path, encoding: "UTF-8").scan(BLOCK)
  end

  def programs = ruby.grep(%r{\A# [\w/]+\.rb\n}).to_h { |source| [source[%r{[\w/]+\.rb}], source] }
  def commands = of("console").flat_map { |lines| lines.scan(/^\$ (.+)$/) }.flatten
  def output(pattern) = of("").find { |text| text.match?(pattern) }

  private

  def ruby = of("ruby")
  def of(kind) = @blocks.filter_map { |language, source| source if language == kind }
end
