# frozen_string_literal: true

require "fileutils"
require "json"

module TestSuite
  # How long each test took when it last ran: read from a file, and written to it after a run. The
  # file names only tests that take a while. A new machine has none: there slow_tests.json names the
  # slowest tests (`rake slow_tests` writes it).
  class Durations < Minitest::AbstractReporter
    SHORT = 0.05 # seconds: a test that takes less isn't written
    SLOW = 1.0 # seconds: a test that takes less isn't in slow_tests.json
    SLOW_TESTS = File.expand_path("slow_tests.json", __dir__)
    private_constant :SHORT

    def initialize(path)
      super()
      @path = path
      @seconds = read(path)
      @default = @seconds ? SHORT : SLOW / 2
      @seconds ||= read(SLOW_TESTS) || {}
    end

    def of(class_name, test_name) = @seconds.fetch("#{class_name}##{test_name}", @default)

    def record(result)
      name = "#{result.klass}##{result.name}"
      @seconds.delete(name)
      @seconds[name] = result.time.round(2) if result.time && result.time > SHORT
    end

    # Put in place by a rename: other runs may read or write the file at the same time.
    def report
      FileUtils.mkdir_p(File.dirname(@path))
      File.write("#{@path}.#{Process.pid}", JSON.pretty_generate(@seconds.sort.to_h))
      File.rename("#{@path}.#{Process.pid}", @path)
    end

    private

    def read(path)
      JSON.parse(File.read(path))
    rescue Errno::ENOENT, JSON::ParserError
      nil
    end
  end
end
