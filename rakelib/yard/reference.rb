# frozen_string_literal: true

require "yard"

# The public objects of the reference, checked for missing texts and unknown names.
#
#   Reference.new.undocumented            # => ["skep/lib/skep/os.rb:12 Skep::OS.now", …]
#   Reference.new.unknown(["README.md"])  # => ["Skep::Missing", …], names in these pages
class Reference
  NAME = /\bSkep(?:(?:::[A-Z]\w*)+(?:\.[a-z]\w*[?!]?)?|\.[a-z]\w*[?!]?)/
  private_constant :NAME

  def initialize
    YARD::Registry.clear
    YARD::Logger.instance.level = YARD::Logger::ERROR
    options = YARD::CLI::Yardoc.new
    options.use_cache = false
    options.parse_arguments
    YARD.parse(options.files, options.excluded)
    @objects = YARD::Registry.all.select { |object| public?(object) }
  end

  # Returns public objects without a text.
  def undocumented
    @objects.reject { |object| object.docstring.strip != "" || needs_no_text?(object) }
            .map { |object| "#{object.file}:#{object.line} #{object.path}" }
  end

  # Returns constants and methods that these pages name and the reference lacks.
  def unknown(pages)
    texts = pages.map { |page| File.read(page, encoding: "UTF-8") }
    texts.join.scan(NAME).uniq.grep_v(/\.new\z/) - @objects.map(&:path)
  end

  private

  def public?(object)
    return false if object.is_a?(YARD::CodeObjects::Proxy)

    chain = [object, *object.namespace&.then { |namespace| [namespace, *namespace.parent] }]
    chain.all? { |one| one.respond_to?(:visibility) ? one.visibility == :public : true }
  end

  # Returns true for what needs no text: a constructor, which its class' text shows, and modules of
  # other gems.
  def needs_no_text?(object)
    object.name == :initialize || (object.type == :module && !object.path.start_with?("Skep"))
  end
end
