# frozen_string_literal: true

require "open3"

# Builds the small C programs that a bench measures, by the C compiler of this machine.
#
#   Compiler.new("gcc", package: "gcc").build("loop.c", "/tmp/x/loop", ["-static"])   # => its path
#   Compiler.new("diet gcc", package: "dietlibc-dev")
#
# Raises Contender::Skipped where there is no such compiler, or where it can't build this.
module Skep
  module CLI
    class Bench
      class Compiler
        FLAGS = %w[-std=gnu99 -O2 -w].freeze
        private_constant :FLAGS

        attr_reader :name #: String

        def initialize(name, package:) #: (String, package: String) -> void
          @name = name
          @package = package
        end

        #: (String, String, ?Array[String]) -> String
        def build(source, program, flags = [])
          text, status = Open3.capture2e(*name.split, *FLAGS, "-o", program, source, *flags)
          return program if status.success?

          said = text[/(?:error:|cannot find) .*$/] || text.lines.last.to_s.strip
          raise Contender::Skipped, "#{name} can't build it: #{said}"
        rescue Errno::ENOENT
          raise Contender::Skipped, "there is no #{name.split.first}: apt-get install #{@package}"
        end
      end
    end
  end
end
