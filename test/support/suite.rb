# frozen_string_literal: true

# Runs the tests named, or all of them, in one process:
#
#   ruby -w -Ilib -Itest test/support/suite.rb [FILE or FOLDER...] [Minitest's options]
#
# Scenarios are programs of their own and never run here.

require "test_helper"

named, options = ARGV.partition { |argument| File.exist?(argument) }
ARGV.replace(options)
named = ["test"] if named.empty?
files = named.flat_map { |path| File.directory?(path) ? Dir["#{path}/**/*_test.rb"].sort : path }
files.grep_v(%r{\Atest/scenario/}).each { |file| require File.expand_path(file) }
