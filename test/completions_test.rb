# frozen_string_literal: true

require "test_helper"
require "socket"
require "tmpdir"

# The files of skep/completions/, in those shells that are installed.
class CompletionsTest < Skep::TestCase
  # Typed text, and its completions.
  CASES = { "skep sta" => %w[status], "skep re" => %w[reload restart resume],
            "skep help ru" => %w[run],
            "skep status --p" => %w[--partitions], "skep status b" => %w[billing books],
            "skep scale --control x m" => %w[mail],
            "skep kafka br" => %w[broker], "skep run --no" => %w[--nodes] }.freeze
  FOLDER = File.expand_path("../skep/completions", __dir__)
  BASH = <<~'SH'
    . "$1"
    while read -ra COMP_WORDS; do
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      _skep
      echo $(printf '%s\n' "${COMPREPLY[@]}" | sort)
    done
  SH
  FISH = <<~'FISH'
    source $argv[1]
    while read line
      set -l word (string split ' ' -- $line)[-1] # fish 4 also proposes what merely contains its letters
      echo (complete -C $line | string replace -r '\t.*' '' | string match -- "$word*" | sort)
    end
  FISH
  private_constant :CASES, :FOLDER, :BASH, :FISH

  test "bash completes commands, options, words and the names of swarms" do
    assert_equal CASES, completed("bash", "bash", "-c", BASH, "bash")
  end

  test "fish completes commands, options, words and the names of swarms" do
    missing "fish" unless shell?("fish")

    assert_equal CASES, completed("fish", "fish", "--no-config", "-c", FISH)
  end

  test "zsh reads its script, and then has its function" do
    missing "zsh" unless shell?("zsh")

    words = "compdef() { print -r -- \"$@\" }; . #{FOLDER}/_skep; " \
            "(( $+functions[_skep] )) && echo read"
    out, err, = run_command({}, "zsh", "-f", "-c", words, timeout: 30)
    assert_equal ["_skep skep\nread\n", ""], [out, err]
  end

  test "a swarm's name that contains a shell command doesn't run it" do
    result = completed("bash", "bash", "-c", BASH, "bash", names: ["b$(touch oops)"],
                                                           cases: ["skep top b"])
    assert_equal({ "skep top b" => %w[b$(touch oops)] }, result)
    refute_path_exists "oops"
  end

  private

  def shell?(name) = system("command -v #{name} > /dev/null")

  def completed(shell, *command, names: %w[billing books mail], cases: CASES.keys)
    Dir.mktmpdir do |directory|
      names.each { |name| UNIXServer.new("#{directory}/#{name}.sock").close }
      File.write(typed = "#{directory}/typed", cases.map { |line| "#{line}\n" }.join)
      out, err, = run_command({ "SKEP_RUN_DIR" => directory }, "sh", "-c", 'exec "$@" < "$0"',
                              typed, *command, "#{FOLDER}/skep.#{shell}", timeout: 30)
      assert_equal "", err
      cases.zip(out.lines.map(&:split)).to_h
    end
  end
end
