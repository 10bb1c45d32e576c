# frozen_string_literal: true

require_relative "libraries"

# The cost of a fork in C: tax.c, built with several C libraries and run in several ways.
#
#   tax = Tax.new(folder, milliseconds: 150)
#   tax.measure("glibc static")                          # => {"" => 84.2, "mappings" => 12}, µs
#   tax.measure("glibc", libraries: 10, how: "vfork")
#   tax.measure("glibc static", mappings: 1000)
#   tax.measure("glibc static", megabytes: 64, huge: true)
#
# Builds each program at its first use. Raises Subject::Skipped if that isn't possible.
module Skep
  module Benchmarks
    class Fork < Benchmark
      class Tax
        SOURCE = File.expand_path("tax.c", __dir__)
        GLIBC = Compiler.new("gcc", package: "gcc libc6-dev")
        MUSL = Compiler.new("musl-gcc", package: "musl-tools")
        DIETLIBC = Compiler.new("diet gcc", package: "dietlibc-dev")
        KINDS = { "glibc static" => [GLIBC, ["-static"]], "glibc" => [GLIBC, []],
                  "musl static" => [MUSL, ["-static"]], "musl" => [MUSL, []],
                  "dietlibc static" => [DIETLIBC, []] }.freeze
        private_constant :SOURCE, :GLIBC, :MUSL, :DIETLIBC, :KINDS

        def initialize(folder, milliseconds:)
          @folder = folder
          @milliseconds = milliseconds
          @programs = {}
        end

        # `how` is "fork", "vfork" or "posix_spawn", which starts a static program that does
        # nothing.
        def measure(kind, how: "fork", libraries: 0, mappings: 0, megabytes: 0, huge: false)
          how = program("glibc static", 0) if how == "posix_spawn"
          figures = Program.run([program(kind, libraries), how, @milliseconds, mappings, megabytes,
                                 huge ? 1 : 0])
          { "" => figures.fetch("us"), "mappings" => figures.fetch("mappings").to_f }
        end

        private

        def program(kind, libraries)
          @programs[[kind, libraries]] ||= build(kind, libraries)
        end

        def build(kind, libraries)
          compiler, flags = KINDS.fetch(kind)
          compiler.build(SOURCE, File.join(@folder, "#{kind} #{libraries}"),
                         flags + linked(libraries))
        end

        def linked(count)
          return [] if count.zero?

          found = Libraries.found.first(count)
          return ["-Wl,--no-as-needed", *found] if found.size == count

          raise Subject::Skipped, "only #{found.size} libraries that need no other were found"
        end
      end
      private_constant :Tax
    end
  end
end
