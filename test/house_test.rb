# frozen_string_literal: true

require "test_helper"

# Laws that a look at the text can keep.
class HouseTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  FROZEN = /\A(?:#!.*\n)?# frozen_string_literal: true\n/
  PREFACE = /\A#.*\n(?:\n| *(?:require|module|class).*\n)* *# \S/
  FOREIGN_C = /^(?!static\b)[a-z_][\w *]*\n(?!skep_|Init_skep)\w+\(/
  WAITS = /\bsleep(?:[ (](?!infinity)|$)|\bThread\.pass\b(?![":\]])/ # but not a row of that name
  # What two benchmarks measure beside our own ways to wait.
  PEERS = %r{\Abenchmark/(?:pool|threads)/passing\.rb:}
  private_constant :ROOT, :FROZEN, :PREFACE, :FOREIGN_C, :WAITS, :PEERS

  test "nothing waits by the clock where it could wait for what happens" do
    assert_empty code("{lib,exe,test,benchmark,examples/demo}/**/*").grep(WAITS).grep_v(PEERS)
  end

  # It may jump: what is decided goes by Skep::OS.now.
  test "the clock of the wall is only told" do
    looks = code("{lib,exe}/**/*").grep(/\bTime\.(?:now|new)\b|CLOCK_REALTIME/)
    assert_empty looks.grep_v(%r{\Alib/skep/(?:log/event_log|control/server)\.rb:})
  end

  # A fallback has no pidfd to signal: it is the one place that makes sure who a number is.
  test "no number is signalled" do
    calls = code("{lib,exe}/**/*").grep(/\bProcess\.kill\b/)
    assert_empty calls.grep_v(%r{\Alib/skep/os/pidfd/fallback\.rb:})
  end

  # Skep::OS.pipe says why.
  test "a pipe is made whole" do
    pipes = code("lib/**/*").grep(/\bIO\.pipe\b/)
    assert_empty pipes.grep_v(%r{\Alib/skep/(?:os\.rb|cli/doctor/)})
  end

  test "nothing is autoloaded that could be forked half loaded" do
    assert_empty code("lib/**/*").grep(/\bautoload\b(?!\?)/)
  end

  # What Skep.map sends goes between two forks of one program, over a socket that nobody else has.
  test "nothing is marshalled but a map's items and results, which may be messages" do
    marshalling = code("lib/**/*").grep(/\bMarshal\b/)
    assert_empty marshalling.grep_v(%r{\Alib/skep/(work/map/serializer|kafka/message)\.rb:})
  end

  test "who rescues everything says why" do
    assert_empty lines("lib/**/*").grep(/rescue Exception(?!.*# \S)|\brescue nil\b/)
  end

  test "every Ruby file freezes its strings" do
    ruby = files("{lib,ext,test,examples,benchmark}/**/*.rb") +
           files("{Gemfile,Rakefile,*.gemspec,exe/*}")
    assert_empty(ruby.reject { |file| text(file).match?(FROZEN) })
  end

  test "every file of lib says what it is" do
    silent = files("{lib,benchmark}/**/*.rb").reject { |file| text(file).match?(PREFACE) }
    assert_equal ["lib/skep/version.rb"], silent
  end

  test "C functions are static, or skep's by name" do
    assert_empty(files("ext/skep/**/*.c").select { |file| text(file).match?(FOREIGN_C) })
  end

  test "no file knows the machine it was written on" do
    folders = %w[lib ext exe test bin docs examples benchmark .ci .github]
    house = lines("{#{folders.join(",")}}/**/*") + lines("{*,.*}")
    assert_empty house.grep(%r{(?<![\w.])/(?:work|home)/\w})
  end

  private

  # Lines without comments, and without the patterns of this file.
  def code(pattern)
    lines(pattern).grep_v(/\A\S+:\d+:\s*(?:#|\*|\/\*)/).map { |line| line.sub(/\s# .*$/, "") }
  end

  # As "path:line: text".
  def lines(pattern)
    (files(pattern) - ["test/house_test.rb"]).flat_map do |file|
      text(file).each_line.map.with_index(1) { |line, number| "#{file}:#{number}: #{line}" }
    end
  end

  def files(pattern)
    found = Dir.glob(pattern, base: ROOT).select { |file| File.file?("#{ROOT}/#{file}") }
    found = found.grep_v(/\.(?:so|lock|png)\z|\A\.git\z/)
    found.tap { |files| refute_empty files, "nothing is #{pattern}" }
  end

  def text(file) = File.read("#{ROOT}/#{file}", encoding: "UTF-8")
end
