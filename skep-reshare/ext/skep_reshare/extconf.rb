# frozen_string_literal: true

# Makes the Makefile of skep_reshare; never fails an install. Without Linux, a compiler or Ruby's
# headers the Makefile does nothing, and skep/reshare has no effect, which the warmup's report says.
#
#   SKEP_WERROR=1            warnings are errors
#   SKEP_SANITIZE=address    a build for AddressSanitizer

def build(env)
  raise "this is no Linux" unless RUBY_PLATFORM.include?("linux")

  require "mkmf"
  raise "the C library has no memfd_create" unless have_func("memfd_create", "sys/mman.h")

  $CFLAGS << " -Wall -Wextra"
  $CFLAGS << " -Werror" if env["SKEP_WERROR"]
  sanitize(env["SKEP_SANITIZE"]) if env["SKEP_SANITIZE"]
  create_makefile("skep/skep_reshare")
end

def sanitize(sanitizer)
  # Ruby leaves C frames by longjmps that the sanitizer doesn't see: it would take them for live.
  append_cflags("--param=asan-stack=0") if sanitizer == "address"
  $CFLAGS << " -fsanitize=#{sanitizer} -fno-omit-frame-pointer -g -O1"
  $LDFLAGS << " -fsanitize=#{sanitizer}"
end

begin
  build(ENV)
rescue LoadError, RuntimeError, SystemExit => error
  # mkmf exits without headers and raises without a compiler.
  why = error.message.lines.first.to_s.strip
  puts "skep-reshare: the C extension isn't built (#{why}); skep/reshare will have no effect."
  targets = "all install clean distclean install-so install-rb"
  File.write("Makefile", "#{targets}:\n\t@:\n.PHONY: #{targets}\n")
end
