# frozen_string_literal: true

require "open3"

# Builds the C programs of a benchmark with a C compiler of this machine.
#
#   Compiler.new("gcc", package: "gcc").build("loop.c", "/tmp/x/loop", ["-static"])   # => its path
#   Compiler.new("diet gcc", package: "dietlibc-dev")
#
# Raises Subject::Skipped if the compiler isn't installed or can't build the program.
module Skep
  module Benchmarks
    class Compiler
      FLAGS = %w[-std=gnu99 -O2 -w].freeze
      private_constant :FLAGS

      attr_reader :name

      def initialize(name, package:)
        @name = name
        @package = package
      end

      def build(source, program, flags = [])
        text, status = Open3.capture2e(*name.split, *FLAGS, "-o", program, source, *flags)
        return program if status.success?

        reason = text[/(?:error:|cannot find) .*$/] || text.lines.last.to_s.strip
        raise Subject::Skipped, "#{name} can't build it: #{reason}"
      rescue Errno::ENOENT
        raise Subject::Skipped, "there is no #{name.split.first}: apt-get install #{@package}"
      end
    end
  end
end
