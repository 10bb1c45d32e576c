# frozen_string_literal: true

require "test_helper"

# Rules of the source code that a search of its text can check.
class SourceRulesTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  FROZEN = /\A(?:#!.*\n)?# frozen_string_literal: true\n/
  PREFACE = /\A#.*\n(?:\n| *(?:require|module|class).*\n)* *# \S/
  FOREIGN_C = /^(?!static\b)[a-z_][\w *]*\n(?!skep_|Init_skep)\w+\(/
  WAITS = /\bsleep(?:[ (](?!infinity)|$)|\bThread\.pass\b(?![":\]])/ # but not a row of that name
  # Two benchmarks compare these with skep's own ways to wait.
  PEERS = %r{\Abenchmark/(?:pool|threads)/passing\.rb:}
  private_constant :ROOT, :FROZEN, :PREFACE, :FOREIGN_C, :WAITS, :PEERS

  test "no code waits by sleep or Thread.pass" do
    assert_empty code("{skep*,test,benchmark,examples/demo}/**/*").grep(WAITS).grep_v(PEERS)
  end

  # It may jump: decisions use Skep::OS.now. librdkafka wants the expiry of a token by it.
  test "the wall clock is used for output only" do
    looks = code("skep*/{lib,exe}/**/*").grep(/\bTime\.(?:now|new)\b|CLOCK_REALTIME/)
    output = %r{/lib/skep/(?:log/event_log|control/server|web/live/swarm_presenter|
                             kafka/.*oauth_login)\.rb:}x
    assert_empty looks.grep_v(output)
  end

  # The fallback has no pidfd, so it checks the process of a pid before it signals it.
  test "no code signals a pid" do
    calls = code("skep*/{lib,exe}/**/*").grep(/\bProcess\.kill\b/)
    assert_empty calls.grep_v(%r{\Askep/lib/skep/os/pidfd/fallback\.rb:})
  end

  # Skep::OS.pipe has the reason.
  test "no code calls IO.pipe instead of Skep::OS.pipe" do
    pipes = code("skep*/lib/**/*").grep(/\bIO\.pipe\b/)
    assert_empty pipes.grep_v(%r{\Askep/lib/skep/(?:os\.rb|cli/doctor/)})
  end

  test "no code uses autoload, which a fork could interrupt" do
    assert_empty code("skep*/lib/**/*").grep(/\bautoload\b(?!\?)/)
  end

  # Skep.map sends between two forks of one program, over a socket that no other process has.
  test "only a map's items and results, and messages in them, are marshalled" do
    marshalling = code("skep*/lib/**/*").grep(/\bMarshal\b/)
    assert_empty marshalling.grep_v(%r{/lib/skep/(work/map/serializer|kafka/message)\.rb:})
  end

  test "each rescue of Exception has a comment with the reason" do
    assert_empty lines("skep*/lib/**/*").grep(/rescue Exception(?!.*# \S)|\brescue nil\b/)
  end

  test "every Ruby file freezes its strings" do
    ruby = files("{skep*,test,examples,benchmark}/**/*.rb") +
           files("{Gemfile,Rakefile,*.rb,skep*/*.gemspec,skep/exe/*}")
    assert_empty(ruby.reject { |file| text(file).match?(FROZEN) })
  end

  test "every file of lib and benchmark has a comment that describes it" do
    files = files("{skep*/lib,benchmark}/**/*.rb")
    undescribed = files.reject { |file| text(file).match?(PREFACE) }
    assert_equal ["skep/lib/skep/version.rb"], undescribed
  end

  test "C functions are static, or have the prefix skep_" do
    assert_empty(files("skep*/ext/**/*.c").select { |file| text(file).match?(FOREIGN_C) })
  end

  test "no file has a path of the machine it was written on" do
    folders = %w[skep* test bin docs examples benchmark .ci .github]
    everything = lines("{#{folders.join(",")}}/**/*") + lines("{*,.*}")
    assert_empty everything.grep(%r{(?<![\w.])/(?:work|home)/\w})
  end

  private

  # Returns lines without comments.
  def code(pattern)
    lines(pattern).grep_v(/\A\S+:\d+:\s*(?:#|\*|\/\*)/).map { |line| line.sub(/\s# .*$/, "") }
  end

  # Returns lines as "path:line: text", except those of this file.
  def lines(pattern)
    (files(pattern) - ["test/source_rules_test.rb"]).flat_map do |file|
      text(file).each_line.map.with_index(1) { |line, number| "#{file}:#{number}: #{line}" }
    end
  end

  def files(pattern)
    found = Dir.glob(pattern, base: ROOT).select { |file| File.file?("#{ROOT}/#{file}") }
    found = found.grep_v(/\.(?:so|lock|png)\z|\A\.git\z/)
    found.tap { |files| refute_empty files, "no file is #{pattern}" }
  end

  def text(file) = File.read("#{ROOT}/#{file}", encoding: "UTF-8")
end
