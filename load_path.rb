# frozen_string_literal: true

# Puts the gems of this checkout on the load path, also without RubyGems: ruby -r./load_path …
# They come after the folders of -I and RUBYLIB, where a test may have put a changed file.
require "rbconfig"

libraries = Dir.glob("#{__dir__}/skep*/lib").sort - $LOAD_PATH
$LOAD_PATH.insert($LOAD_PATH.index(RbConfig::CONFIG["sitelibdir"]) || 0, *libraries)
