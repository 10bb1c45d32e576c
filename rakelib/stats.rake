# frozen_string_literal: true

# Files and lines of code of lib, without comments and blank lines, by component; then what is over
# the limits of docs/design.md.
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
    folders = all.keys.group_by { |path| File.dirname(path) }.transform_values(&:size)
    [*("more than #{LIMITS[:files]} files" if all.size > LIMITS[:files]),
     *("more than #{LIMITS[:lines]} lines" if all.values.sum > LIMITS[:lines]),
     *folders.select { |_, count| count > LIMITS[:files_in_a_folder] }
             .map { |folder, count| "#{count} files in #{folder}" },
     *all.select { |_, lines| lines > LIMITS[:lines_in_a_file] }
         .map { |path, lines| "#{lines} lines in #{path}" }]
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

desc "Count the files and lines of lib"
task("stats") { Stats.print($stdout) }
