# frozen_string_literal: true

# The manual page and the shells' completions are files of the gem, generated from the commands'
# options. They are committed, so that `gem build` needs no other step.
# test/command_line_files_test.rb fails if they are out of date.

task :command_line do
  require_relative "../load_path"
  require_relative "command_line_files"
end

desc "Write skep/man/skep.1 from the commands' options"
task(man: :command_line) { CommandLineFiles.write("skep/man/skep.1") }

desc "Write skep/completions/ for bash, zsh and fish from the commands' options"
task completions: :command_line do
  CommandLineFiles.write(*CommandLineFiles::ALL.keys.grep(%r{/completions/}))
end
