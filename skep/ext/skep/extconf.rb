# frozen_string_literal: true

# Makes the Makefile of skep_ext; never fails an install. Without Linux, a compiler or Ruby's
# headers the Makefile does nothing, and the Ruby fallbacks do the work.
#
#   mkdir -p tmp/build && cd tmp/build && ruby ../../ext/skep/extconf.rb && make
#
#   SKEP_WERROR=1            warnings are errors
#   SKEP_SANITIZE=address    a build for AddressSanitizer; CONTRIBUTING.md tells how to test with it

# Raised when there is nothing to build with, or for.
NothingToBuild = Class.new(StandardError)

def demand(fact, otherwise)
  raise NothingToBuild, otherwise unless fact
end

def build(env)
  demand(RUBY_PLATFORM.include?("linux"), "this is no Linux")
  require "mkmf"
  demand(try_compile("int main(void) { return 0; }"), "there is no C compiler that works")
  demand(have_func("memfd_create", "sys/mman.h"), "the C library has no memfd_create")
  have_func("malloc_trim", "malloc.h")
  have_func("mallinfo2", "malloc.h")
  set_flags(env)
  create_makefile("skep/skep_ext")
end

def set_flags(env)
  sanitize(env["SKEP_SANITIZE"]) if env["SKEP_SANITIZE"]
  $CFLAGS << " -Wall -Wextra"
  $CFLAGS << " -Werror" if env["SKEP_WERROR"]
end

def sanitize(sanitizer)
  # Ruby leaves C frames by longjmps that the sanitizer doesn't see: it would take them for live.
  append_cflags("--param=asan-stack=0") if sanitizer == "address"
  $CFLAGS << " -fsanitize=#{sanitizer} -fno-omit-frame-pointer -g -O1"
  $LDFLAGS << " -fsanitize=#{sanitizer}"
end

def build_nothing(why)
  puts "skep: the C extension isn't built (#{why}); Ruby does its work."
  File.write("Makefile", <<~MAKEFILE)
    all install clean distclean install-so install-rb:
    \t@:
    .PHONY: all install clean distclean install-so install-rb
  MAKEFILE
end

begin
  build(ENV)
rescue NothingToBuild, LoadError, RuntimeError, SystemExit => error
  # mkmf exits without headers and raises without a compiler.
  build_nothing(error.message.lines.first.to_s.strip)
end
