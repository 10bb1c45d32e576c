# frozen_string_literal: true

require "fileutils"

# A text of a file of lib and its replacement: a bug to plant. The text must be in the file exactly
# once; lines are found whatever their indentation. Simulation::Mutations and HandlerFuzz::Mutations
# list such bugs.
#
#   patch = Patch.new("skep/swarm/nodes/restart_history.rb", "times << now", "nil")
#   patch.plant(folder)   # a Ruby with -Ifolder before -r./load_path loads the changed file
Patch = Struct.new(:file, :from, :to) do
  # A file that has been changed already is changed once more.
  def plant(folder)
    planted = "#{folder}/#{file}"
    original = Dir["skep*/lib/#{file}"].first
    text = File.read(File.exist?(planted) ? planted : original, encoding: "UTF-8")
    count = text.scan(pattern).size
    raise "#{file}: #{from.inspect} occurs #{count} times" unless count == 1

    FileUtils.mkdir_p(File.dirname(planted))
    File.write(planted, text.sub(pattern) { to })
  end

  private

  def pattern = Regexp.new(from.lines.map { |line| Regexp.escape(line.strip) }.join("\\n\\s*"))
end
