# frozen_string_literal: true

# Puts the gems of this checkout and their tests on the load path: ruby -r./test/load_path …
require_relative "../load_path"

tests = Dir.glob("skep*/test", base: File.expand_path("..", __dir__)).sort
tests = tests.map { |path| File.expand_path("../#{path}", __dir__) }
$LOAD_PATH.unshift(*([__dir__, *tests] - $LOAD_PATH))
