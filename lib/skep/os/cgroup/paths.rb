# frozen_string_literal: true

module Skep
  module OS
    class Cgroup
      # The files of a control group: each holds a number, or lines of names and numbers.
      # What isn't there, or isn't ours to read, is nil.
      module Paths
        class << self
          # The directory and those above it, up to the top.
          #
          #: (String directory, String top) -> Array[String]
          def upwards(directory, top)
            found = [directory]
            found << File.dirname(found.last) while found.last.start_with?("#{top}/")
            found
          end

          #: (String path) -> Integer?
          def number(path) = read(path)&.then { |text| Integer(text, 10, exception: false) }

          # Those of a file that has several in a line; nil for what is none.
          #
          #: (String path) -> Array[Integer?]
          def numbers(path)
            read(path).to_s.split.map { |text| Integer(text, 10, exception: false) }
          end

          #: (String path, String name) -> Integer?
          def field(path, name) = read(path)&.slice(/^#{name} (\d+)$/, 1)&.to_i

          # Seconds, out of a file of pressure: some avg10=0.00 … total=microseconds.
          #
          #: (String path) -> Float?
          def stalled(path)
            total = read(path)&.slice(/^some .*total=(\d+)/, 1)
            total && (total.to_i / 1e6)
          end

          private

          def read(path)
            File.read(path)
          rescue SystemCallError # not there, not for us, or no descriptor to look with
            nil # no such group any more, or a kernel without it
          end
        end
      end
      private_constant :Paths
    end
  end
end
