# frozen_string_literal: true

# Makes mkmf compile with another platform's compiler, which SKEP_FOREIGN_CC names. To be required
# before extconf.rb:
#
#   SKEP_FOREIGN_CC=musl-gcc ruby -r ./rakelib/foreign_compiler.rb skep/ext/skep/extconf.rb
#
# The headers are those of this Ruby: its config.h fits any 64-bit Linux well enough to compile this
# C. No library of this machine is linked, so have_func asks the other platform's libc.

require "rbconfig"

compiler = ENV.fetch("SKEP_FOREIGN_CC")
[RbConfig::CONFIG, RbConfig::MAKEFILE_CONFIG].each do |config|
  config["LDSHARED"] = "#{compiler} -shared"
  config["CC"] = compiler
  %w[LIBRUBYARG LIBRUBYARG_SHARED LIBRUBYARG_STATIC].each { |name| config[name] = "" }
end

require "mkmf"
$DEFLIBPATH.replace(["."]) # rubocop:disable Style/GlobalVars -- where mkmf looks for libraries
