# frozen_string_literal: true

require "rbs"

# Finds what signatures declare and lib lacks. Steep checks parameters and results, but not whether
# a method is there: a module may be spread over several files.
#
#   Signatures.new(*Dir["skep*/sig"]).missing   # => ["Skep::Kafka::Batch#first_offset", …]
#   Signatures.new("skep-kafka/sig").of("Skep::Kafka::Batch#mark")
#   # => ["((Message | Integer)) -> bool"]
class Signatures
  def initialize(*folders)
    loader = RBS::EnvironmentLoader.new(core_root: nil)
    folders.each { |folder| loader.add(path: Pathname(folder)) }
    @environment = RBS::Environment.from_loader(loader)
  end

  def missing
    @environment.class_decls.flat_map do |name, entry|
      entry.decls.flat_map { |part| missing_of(name.to_s, part.decl) }
    end
  end

  # Returns the types of a method, one an overload; [] if none names it.
  def of(path)
    @types ||= @environment.class_decls.flat_map do |name, entry|
      entry.decls.flat_map { |part| types_of(name.to_s.delete_prefix("::"), part.decl) }
    end.to_h
    @types.fetch(path, [])
  end

  private

  def types_of(name, declaration)
    declaration.members.filter_map do |member|
      case member
      when RBS::AST::Members::MethodDefinition
        separator = member.kind == :singleton ? "." : "#"
        overloads = member.overloads.map { |overload| overload.method_type.to_s }
        ["#{name}#{separator}#{member.name}", overloads]
      when RBS::AST::Members::AttrReader then ["#{name}##{member.name}", [member.type.to_s]]
      end
    end
  end

  def missing_of(name, declaration)
    constant = Object.const_get(name)
    declaration.members.flat_map { |member| methods_of(member) }
               .reject { |kind, method| there?(constant, kind, method) }
               .map { |kind, method| "#{name.delete_prefix("::")}#{kind}#{method}" }
  rescue NameError
    [name.delete_prefix("::")]
  end

  def methods_of(member)
    case member
    when RBS::AST::Members::MethodDefinition
      [[member.kind == :singleton ? "." : "#", member.name]]
    when RBS::AST::Members::AttrReader then [["#", member.name]]
    else []
    end
  end

  def there?(constant, kind, method)
    return true if method == :initialize
    return constant.respond_to?(method) if kind == "."

    constant.public_method_defined?(method)
  end
end
