# frozen_string_literal: true

require "yard"

return if defined?(HouseStyle) # YARD loads what .yardopts names each time it reads that

# How skep's comments become YARD's: .yardopts loads it.
#
# - An RBS signature, `#: (Integer) -> Pidfd` over a method or behind it, becomes its signature, and
#   its result what is returned. What follows the type of an attribute, after a comma, is its text.
# - A file's preface is the text of the class or module that the file is named after.
# - Code in a comment is indented by two columns, Markdown's by four.
# - `__name` is for other rooms: private. What every object answers is left out.
# - A stand-in's methods without a text mean what those do that they stand in for.
# - A Struct's members mean what the Struct's text says behind them, `place.topic   # where`; they
#   are only read.
# - A link from one guide to another leads to its page.
module HouseStyle
  ORDINARY = %i[inspect to_s dup clone _dump _load].freeze
  STAND_INS = { "Skep::Swarm::Processes::ThreadContext" => "Skep::Swarm::Child",
                "Skep::Kafka::Testing::FakeChild" => "Skep::Swarm::Child" }.freeze
  SIGNATURE = /^\s*#:\s?(.*)$/
  BEHIND = /\s#: (.+)$/
  PREFACE = /\A# frozen_string_literal: true\n(?:\n|require.*\n)*((?:#.*\n)+)/
  # What YARD itself says of a Struct's.
  MEMBER = lambda do |method|
    method.docstring.all.match?(/\A(?:Returns the value of|Sets the) attribute \w+\s*(?:@|\z)/)
  end
  TYPES = { "untyped" => "Object", "bool" => "Boolean" }.freeze

  module_function

  # Once all files are parsed.
  def apply
    files = Hash.new { |all, path| all[path] = File.readlines(path, encoding: "UTF-8") }
    YARD::Registry.all(:method).each { |method| dress(method, files[method.file]) if method.file }
    YARD::Registry.all(:class, :module, :constant).each { |object| introduce(object) }
    YARD::Registry.all(:method).grep(MEMBER) { |method| member(method) }
    STAND_INS.each { |stand_in, original| lend(YARD::Registry.at(stand_in), original) }
  end

  def member(method)
    return method.visibility = :private if method.name.end_with?("=")

    text = method.namespace.docstring.all[/\.#{method.name}\b *# (?:=> )?(.+)$/, 1]
    method.docstring = text.to_s
  end

  def lend(stand_in, original)
    stand_in&.meths&.each do |method|
      found = YARD::Registry.at("#{original}##{method.name}")
      next if found.nil? || method.name == :initialize || method.docstring.strip != ""

      method.docstring = found.docstring.to_raw
    end
  end

  def dress(method, lines)
    method.visibility = :private if method.name.start_with?("__") || ORDINARY.include?(method.name)
    signature, more = signature_of(method, lines)
    method.docstring = text_of(method.docstring.all, more)
    return unless signature

    method.add_tag(YARD::Tags::Tag.new(:rbs, "`#{signature}`")) unless method.is_attribute?
    method.add_tag(YARD::Tags::Tag.new(:return, nil, types(signature)))
  end

  # What it takes and gives, and the words after that.
  def signature_of(method, lines)
    at = method.line - 1
    behind = lines[at][BEHIND, 1]
    above = lines[0...at].reverse.take_while { |line| line.match?(SIGNATURE) }.reverse
    sentence = behind || above.map { |line| line[SIGNATURE, 1].strip }.join(" ")
    return if sentence.empty?

    split(sentence)
  end

  # `Integer?, the node's number`: the type ends at the first comma that is in no bracket.
  def split(sentence)
    depth = 0
    cut = sentence.each_char.find_index do |char|
      depth += { "[" => 1, "(" => 1, "{" => 1, "]" => -1, ")" => -1, "}" => -1 }.fetch(char, 0)
      char == "," && depth.zero?
    end
    return [sentence, nil] unless cut

    [sentence[0...cut], sentence[(cut + 1)..].strip.sub(/\A[a-z]/, &:upcase)]
  end

  def text_of(docstring, more)
    own = docstring.lines.grep_v(/\A:(?: |$)/).join.strip
    indented([own, (more if own.empty?)].compact.join)
  end

  def indented(text) = text.gsub(/^(?= {2,}\S)/, "  ")

  # As YARD writes types: a list of alternatives.
  def types(signature)
    result = signature[/.*->\s*(.+)\z/, 1] || signature
    result = result[1..-2] if result.start_with?("(") && result.end_with?(")")
    result.split(/ \| (?![^\[]*\])/).flat_map { |type| alternatives(type.strip) }
  end

  def alternatives(type)
    name = type.delete_suffix("?").tr("[]", "<>").gsub(/\w+/) { |word| TYPES.fetch(word, word) }
    [name, *("nil" if type.end_with?("?"))]
  end

  def introduce(object)
    home = home_of(object)
    own = object.docstring.all unless object.path == "Skep" || object.docstring.blank?
    text = own || (home && preface(home)) || ""
    object.docstring = indented(text)
  end

  # The file that is named after it: as its whole path, or as its name.
  def home_of(object)
    path = "lib/#{object.path.gsub("::", "/").downcase}.rb"
    files = object.files.map(&:first)
    files.find { |file| file.delete("_") == path } ||
      files.find { |file| File.basename(file).delete("_") == File.basename(path) }
  end

  def preface(file)
    text = File.read(file, encoding: "UTF-8")[PREFACE, 1]
    text&.gsub(/^# ?/, "")
  end
end

# Of guides' pages, which all lie in one folder.
module HouseLinks
  GUIDE = %r{href="(?:docs/)?([a-z_]+)\.md(#[^"]*)?"}
  private_constant :GUIDE

  def htmlify(text, markup = options.markup)
    super.gsub(GUIDE) { "href=\"file.#{$1}.html#{$2}\"" }.gsub('src="docs/', 'src="')
  end
end

YARD::Templates::Helpers::HtmlHelper.prepend(HouseLinks)
YARD::Parser::SourceParser.after_parse_list { HouseStyle.apply }
YARD::Tags::Library.define_tag("Signature", :rbs)
YARD::Tags::Library.visible_tags.place(:rbs).before(:return)
