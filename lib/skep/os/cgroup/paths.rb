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

          # Returns the seconds in a pressure file: some avg10=0.00 … total=microseconds.
          def stalled(path)
            total = read(path)&.slice(/^some .*total=(\d+)/, 1)
            total && (total.to_i / 1e6)
          end

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
