# frozen_string_literal: true

require "fileutils"
require_relative "man_page"
require_relative "bash_completion"
require_relative "zsh_completion"
require_relative "fish_completion"

# The files of the gem that are generated from the commands' options.
#
#   CommandLineFiles.write("skep/man/skep.1")
#   CommandLineFiles.text("skep/completions/skep.bash")
module CommandLineFiles
  ROOT = File.expand_path("..", __dir__)
  ALL = { "skep/man/skep.1" => ManPage,
          "skep/completions/skep.bash" => BashCompletion,
          "skep/completions/_skep" => ZshCompletion,
          "skep/completions/skep.fish" => FishCompletion }.freeze

  module_function

  def write(*paths)
    paths.each do |path|
      FileUtils.mkdir_p(File.dirname("#{ROOT}/#{path}"))
      File.write("#{ROOT}/#{path}", text(path))
    end
  end

  def text(path) = "#{ALL.fetch(path).new(CommandReference.entries).to_s.chomp}\n"
end
