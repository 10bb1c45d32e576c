# frozen_string_literal: true

# Counts files and lines of code of lib, without comments and blank lines, by component. Then prints
# what exceeds the limits of docs/internals/architecture.md.
#
# A folder's entry file, lib/skep/kafka.rb of lib/skep/kafka/, counts as a file of that folder:
# Ruby's convention puts it beside the folder.
module Stats
  LIMITS = { files: 400, lines: 22_000, files_in_a_folder: 12, lines_in_a_file: 400 }.freeze

  module_function

  def print(out)
    all = Dir["lib/**/*.rb"].to_h { |path| [path, code_lines(path)] }
    out.puts format("%-22s %6s %8s", "", "files", "lines")
    all.group_by { |path, _| component(path) }.sort_by { |_, rows| -rows.size }.each do |name, rows|
      out.puts format("%-22s %6d %8d", name, rows.size, rows.sum(&:last))
    end
    out.puts format("%-22s %6d %8d", "lib", all.size, all.values.sum)
    over(all).each { |line| out.puts line }
  end

  def over(all)
    folders = all.keys.group_by { |path| folder(path) }.transform_values(&:size)
    [*("more than #{LIMITS[:files]} files" if all.size > LIMITS[:files]),
     *("more than #{LIMITS[:lines]} lines" if all.values.sum > LIMITS[:lines]),
     *folders.select { |_, count| count > LIMITS[:files_in_a_folder] }
             .map { |folder, count| "#{count} files in #{folder}" },
     *all.select { |_, lines| lines > LIMITS[:lines_in_a_file] }
         .map { |path, lines| "#{lines} lines in #{path}" }]
  end

  # Returns the folder that a file counts for: an entry file for the folder beside it.
  def folder(path)
    own = path.delete_suffix(".rb")
    Dir.exist?(own) ? own : File.dirname(path)
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
