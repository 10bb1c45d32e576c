# frozen_string_literal: true

# Counts files and lines of code of each gem's lib, without comments and blank lines, by component.
module Stats
  module_function

  def print(out)
    all = Dir["skep*/lib/**/*.rb"].to_h { |path| [path, code_lines(path)] }
    out.puts format("%-22s %6s %8s", "", "files", "lines")
    all.group_by { |path, _| gem(path) }.sort.each { |name, rows| print_gem(out, name, rows) }
    out.puts format("%-22s %6d %8d", "all", all.size, all.values.sum)
  end

  def print_gem(out, name, rows)
    out.puts format("%-22s %6d %8d", name, rows.size, rows.sum(&:last))
    parts = rows.group_by { |path, _| component(path) }.sort_by { |_, some| -some.size }
    return if parts.size == 1

    parts.each do |part, some|
      out.puts format("  %-20s %6d %8d", part, some.size, some.sum(&:last))
    end
  end

  def gem(path) = path[%r{\A[^/]+}]

  # skep/lib/skep/swarm.rb is of the swarm, skep/lib/skep.rb of none.
  def component(path)
    lib, name = path.match(%r{\A([^/]+/lib/skep)/(\w+)})&.captures
    name && Dir.exist?("#{lib}/#{name}") ? name : "others"
  end

  def code_lines(path)
    File.readlines(path, encoding: "UTF-8").count { |line| line.match?(/\A\s*[^#\s]/) }
  end
end
