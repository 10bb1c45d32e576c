# frozen_string_literal: true

module Skep
  module OS
    class Cgroup
      # Reads the files of a control group: a number, or lines of a name and a number. Returns nil
      # for what is missing or not readable.
      module Paths
        class << self
          # Returns the directory and its ancestors, up to the top.
          def upwards(directory, top)
            found = [directory]
            found << File.dirname(found.last) while found.last.start_with?("#{top}/")
            found
          end

          def number(path) = read(path)&.then { |text| Integer(text, 10, exception: false) }

          # Returns the numbers of a file that has several in a line; nil for other words.
          def numbers(path)
            read(path).to_s.split.map { |text| Integer(text, 10, exception: false) }
          end

          def field(path, name) = read(path)&.slice(/^#{name} (\d+)$/, 1)&.to_i

          private

          def read(path)
            OS.machine.read(path)
          rescue SystemCallError
            nil # The group is gone, the kernel lacks it, or no descriptor is left.
          end
        end
      end
      private_constant :Paths
    end
  end
end
