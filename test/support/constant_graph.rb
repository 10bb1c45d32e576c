# frozen_string_literal: true

require "ripper"
require "set"

# Which constants the files of lib define, and which of them each class names. References are
# resolved as Ruby does it, by the modules around them; calls of methods don't count.
#
#   graph = ConstantGraph.new(Dir["skep/lib/skep/swarm/**/*.rb"], root: "Skep::Swarm")
#   graph.references   # => [["Skep::Swarm::Nodes::Slot", "Skep::Swarm::IPC::ExitStatus"], …]
#   graph.circles      # => [["Skep::Swarm::Supervisor", …], …], of classes, the largest first
class ConstantGraph
  # The definitions and references of one file.
  class Reader
    attr_reader :definitions, :classes, :references

    def initialize(source)
      @definitions = []
      @classes = []
      @references = []
      walk(Ripper.sexp(source), [])
    end

    private

    def walk(node, nesting)
      return unless node.is_a?(Array)

      case node[0]
      when :class, :module then enter(node, nesting)
      when :const_path_ref, :var_ref, :top_const_ref
        path = path(node)
        path ? @references << [path, nesting] : walk_all(node, nesting)
      when :assign
        assign(node, nesting)
        walk_all(node, nesting)
      else walk_all(node, nesting)
      end
    end

    # A Struct is a class.
    def assign(node, nesting)
      target = node.dig(1, 1)
      return unless target.is_a?(Array) && target[0] == :@const

      @definitions << (name = [nesting.first, target[1]].join("::"))
      @classes << name if node[2].flatten.include?("Struct")
    end

    def walk_all(node, nesting) = node.each { |child| walk(child, nesting) }

    def enter(node, nesting)
      name = [nesting.first, *path(node[1])].compact.join("::")
      @definitions << name
      if node[0] == :class
        @classes << name
        walk(node[2], nesting)
      end
      walk(node.last, [name, *nesting])
    end

    # Returns ["Skep", "Swarm"] for Skep::Swarm, ["", "Rails"] for ::Rails; nil for anything but a
    # name.
    def path(node)
      case node[0]
      when :const_path_ref then (left = path(node[1])) && [*left, node[2][1]]
      when :var_ref, :const_ref then [node[1][1]] if node[1].is_a?(Array) && node[1][0] == :@const
      when :top_const_ref then ["", node[1][1]]
      end
    end
  end

  # Which module or class names which constant.
  attr_reader :references

  # root: a class that is the namespace of all others, and isn't counted.
  def initialize(files, root: nil)
    readers = files.map { |file| Reader.new(File.read(file, encoding: "UTF-8")) }
    @root = root
    @known = readers.flat_map(&:definitions).to_set
    @classes = readers.flat_map(&:classes).to_set
    @references = readers.flat_map(&:references).filter_map do |path, nesting|
      found = resolve(path, nesting)
      [nesting.first, found] if nesting.any? && found
    end.uniq
  end

  # Groups of classes that name each other, directly or by way of others.
  def circles
    names = names_by_class
    reach = names.keys.to_h { |owner| [owner, reachable(names, owner)] }
    groups = names.keys.map do |one|
      [one, *reach[one].select { |other| reach[other]&.include?(one) }].uniq.sort
    end
    groups.uniq.select { |group| group.size > 1 }.sort_by { |group| -group.size }
  end

  private

  def names_by_class
    pairs = references.map { |from, to| [outer(from), outer(to)] }
    pairs = pairs.select { |from, to| from && to && from != to }
    pairs.group_by(&:first).transform_values { |some| some.map(&:last).uniq }
  end

  # The class that a constant belongs to: those nested in a class are part of it, those in a
  # module aren't.
  def outer(name)
    parts = name.to_s.split("::")
    (1..parts.size).map { |count| parts.first(count).join("::") }
                   .find { |one| @classes.include?(one) && one != @root }
  end

  def resolve(path, nesting)
    return resolve(path.drop(1), []) if path.first.empty?

    first, *rest = path
    scope = [*nesting, nil].find { |one| @known.include?([one, first].compact.join("::")) }
    found = [scope, first].compact.join("::")
    return unless @known.include?(found)

    rest.each do |name|
      break unless @known.include?("#{found}::#{name}")

      found = "#{found}::#{name}"
    end
    found
  end

  def reachable(names, from)
    seen = Set.new
    open = [from]
    while (one = open.pop)
      names.fetch(one, []).each { |other| open << other if seen.add?(other) }
    end
    seen
  end
end
