# frozen_string_literal: true

require "yard"

# What is in the reference, and what of it has no text.
#
#   Reference.new.silent     # => ["lib/skep/os.rb:12 Skep::OS.now", …]
#   Reference.new.strangers(["README.md"])    # => ["Skep::Nobody", …], which these pages name
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

  def silent
    @objects.reject { |object| object.docstring.strip != "" || itself?(object) }
            .map { |object| "#{object.file}:#{object.line} #{object.path}" }
  end

  # Constants and their methods that these pages name, and that aren't in it.
  def strangers(pages)
    texts = pages.map { |page| File.read(page, encoding: "UTF-8") }
    texts.join.scan(NAME).uniq.grep_v(/\.new\z/) - @objects.map(&:path)
  end

  private

  def public?(object)
    return false if object.is_a?(YARD::CodeObjects::Proxy)

    chain = [object, *object.namespace&.then { |namespace| [namespace, *namespace.parent] }]
    chain.all? { |one| one.respond_to?(:visibility) ? one.visibility == :public : true }
  end

  # A constructor, as its class' text tells how it is made; a module of somebody else's.
  def itself?(object)
    object.name == :initialize || (object.type == :module && !object.path.start_with?("Skep"))
  end
end
