# frozen_string_literal: true

require "yard"
require_relative "../signatures"

return if defined?(CommentConversion) # YARD loads this file each time it reads .yardopts

# Converts skep's comments to YARD's documentation. .yardopts loads it.
#
# - The types of a method in a gem's sig/ become its signature and its return type.
# - A file's first comment documents the class or module that the file is named after.
# - YARD's Markdown takes lines as code if they are indented by four columns; the comments of skep
#   indent code by two.
# - `__name` becomes private. Methods that every object has, such as inspect, are left out.
# - A class that stands in for another (STAND_INS) takes the text of its methods from it, where they
#   have none.
# - The members of a Struct get their text from the Struct's comment: `place.topic   # where`. They
#   are shown as read only.
# - A link from one guide to another leads to its page.
module CommentConversion
  ORDINARY = %i[inspect to_s dup clone _dump _load].freeze
  STAND_INS = { "Skep::Swarm::Processes::ThreadContext" => "Skep::Swarm::Node",
                "Skep::Kafka::Testing::FakeNode" => "Skep::Swarm::Node" }.freeze
  SIGNATURES = Signatures.new(*Dir[File.expand_path("../../skep*/sig", __dir__)])
  PREFACE = /\A# frozen_string_literal: true\n(?:\n|require.*\n)*((?:#.*\n)+)/
  # Returns true for a member of a Struct, for which YARD writes a text of its own.
  MEMBER = lambda do |method|
    method.docstring.all.match?(/\A(?:Returns the value of|Sets the) attribute \w+\s*(?:@|\z)/)
  end
  TYPES = { "untyped" => "Object", "bool" => "Boolean" }.freeze

  module_function

  # Called once all files are parsed.
  def apply
    YARD::Registry.all(:method).each { |method| document_method(method) if method.file }
    YARD::Registry.all(:class, :module, :constant).each { |object| document_constant(object) }
    YARD::Registry.all(:method).grep(MEMBER) { |method| document_member(method) }
    STAND_INS.each { |stand_in, original| copy_texts(YARD::Registry.at(stand_in), original) }
  end

  def document_member(method)
    return method.visibility = :private if method.name.end_with?("=")

    text = method.namespace.docstring.all[/\.#{method.name}\b *# (?:=> )?(.+)$/, 1]
    method.docstring = text.to_s
  end

  def copy_texts(stand_in, original)
    stand_in&.meths&.each do |method|
      found = YARD::Registry.at("#{original}##{method.name}")
      next if found.nil? || method.name == :initialize || method.docstring.strip != ""

      method.docstring = found.docstring.to_raw
    end
  end

  def document_method(method)
    method.visibility = :private if method.name.start_with?("__") || ORDINARY.include?(method.name)
    method.docstring = indented(method.docstring.all)
    types = SIGNATURES.of(method.path)
    return if types.empty?

    shown = types.map { |type| "`#{type}`" }.join("<br>")
    method.add_tag(YARD::Tags::Tag.new(:rbs, shown)) unless method.is_attribute?
    method.add_tag(YARD::Tags::Tag.new(:return, nil, returned(types.first)))
  end

  def indented(text) = text.gsub(/^(?= {2,}\S)/, "  ")

  # Returns the result's type as YARD writes types: a list of alternatives.
  def returned(signature)
    result = signature[/.*->\s*(.+)\z/, 1] || signature
    result = result[1..-2] if result.start_with?("(") && result.end_with?(")")
    result.split(/ \| (?![^\[]*\])/).flat_map { |type| alternatives(type.strip) }
  end

  def alternatives(type)
    name = type.delete_suffix("?").tr("[]", "<>").gsub(/\w+/) { |word| TYPES.fetch(word, word) }
    [name, *("nil" if type.end_with?("?"))]
  end

  def document_constant(object)
    file = file_of(object)
    own = object.docstring.all unless object.path == "Skep" || object.docstring.blank?
    text = own || (file && preface(file)) || ""
    object.docstring = indented(text)
  end

  # Returns the file that is named after the object: by its whole path, or by its name.
  def file_of(object)
    path = "/lib/#{object.path.gsub("::", "/").downcase}.rb"
    files = object.files.map(&:first)
    files.find { |file| file.delete("_").end_with?(path) } ||
      files.find { |file| File.basename(file).delete("_") == File.basename(path) }
  end

  def preface(file)
    text = File.read(file, encoding: "UTF-8")[PREFACE, 1]
    text&.gsub(/^# ?/, "")
  end
end

# Converts links between pages: YARD puts all pages into one folder.
module PageLinks
  GUIDE = %r{href="(?:[\w./]*/)?([a-z_]+)\.md(#[^"]*)?"}
  private_constant :GUIDE

  def htmlify(text, markup = options.markup)
    super.gsub(GUIDE) { "href=\"file.#{$1}.html#{$2}\"" }
         .gsub(%r{src="[\w./]*images/}, 'src="images/')
  end
end

YARD::Templates::Helpers::HtmlHelper.prepend(PageLinks)
YARD::Parser::SourceParser.after_parse_list { CommentConversion.apply }
YARD::Tags::Library.define_tag("Signature", :rbs)
YARD::Tags::Library.visible_tags.place(:rbs).before(:return)
