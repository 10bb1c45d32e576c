# frozen_string_literal: true

# Counts files and lines of code of lib, without comments and blank lines, by component.
module Stats
  module_function

  def print(out)
    all = Dir["lib/**/*.rb"].to_h { |path| [path, code_lines(path)] }
    out.puts format("%-22s %6s %8s", "", "files", "lines")
    all.group_by { |path, _| component(path) }.sort_by { |_, rows| -rows.size }.each do |name, rows|
      out.puts format("%-22s %6d %8d", name, rows.size, rows.sum(&:last))
    end
    out.puts format("%-22s %6d %8d", "lib", all.size, all.values.sum)
  end

  # lib/skep/swarm.rb is of the swarm, lib/skep.rb of none.
  def component(path)
    name = path[%r{\Alib/skep/(\w+)}, 1]
    name && Dir.exist?("lib/skep/#{name}") ? name : "others"
  end

  def code_lines(path)
    File.readlines(path, encoding: "UTF-8").count { |line| line.match?(/\A\s*[^#\s]/) }
  end
end
