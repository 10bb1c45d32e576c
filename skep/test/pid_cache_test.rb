# frozen_string_literal: true

require "test_helper"
require "skep/os"
require_relative "os/unseen"

# `require "skep/pid_cache"` changes Ruby: each test does it in a program of its own.
class PidCacheTest < Skep::TestCase
  include Unseen

  CACHED_BY_RUBY = RUBY_VERSION >= "3.3"
  IN_C = Skep::OS.native? && !CACHED_BY_RUBY
  REPORT = 'def report = print([Process.pid, $$, Skep.pid].map { _1 == really }.join(" "), "\n")'
  RIGHT = "true true true\n"
  SENTENCE =
    if IN_C then /\AProcess.pid and \$\$ read a page/
    elsif CACHED_BY_RUBY then /\Anothing was changed: Ruby #{RUBY_VERSION} caches/
    else /\AProcess.pid is .*\$\$ was not changed/
    end
  private_constant :CACHED_BY_RUBY, :IN_C, :REPORT, :RIGHT, :SENTENCE

  test "status has what was done, or the reason why nothing was" do
    active, status = output("puts Skep::PidCache.active?, Skep::PidCache.status").lines(chomp: true)
    assert_equal (!CACHED_BY_RUBY).to_s, active
    assert_match SENTENCE, status
  end

  {
    "in this process" => "report",
    "right after fork" => "Process.wait(fork { report })",
    "after a fork of a fork" => "Process.wait(fork { Process.wait(fork { report }) })",
    "in fork without a block" => "fork ? Process.wait : report",
    "right after Process.daemon" => "Process.daemon(true, true); report",
    'in IO.popen("-")' => 'IO.popen("-") { |io| io ? print(io.read) : report }',
    "in a thread" => "Thread.new { report }.join",
    "in a trap handler" => "trap(:USR1) { report }; Process.kill(:USR1, Process.pid)",
    "in a child's callback" => "Skep.on_fork(child: -> { report }); Process.wait(fork { exit! })"
  }.each do |where, program|
    test "is right #{where}" do
      assert_equal RIGHT, output(program)
    end
  end

  test "is right in the parent after its forks" do
    assert_equal RIGHT, output("2.times { Process.wait(fork { exit! }) }; report")
  end

  test "is right after a fork in C" do
    skip "Ruby's own cache and the fallback don't see it" unless IN_C
    assert_equal RIGHT, output("unseen { report }")
  end

  test "is right after a raw clone(2)" do
    skip "Ruby's own cache and the fallback don't see it" unless IN_C
    needs_clone
    assert_equal RIGHT, output("clone { report }")
  end

  test "$$ is right after a fork in C, in the fallback" do
    skip "the C extension, or Ruby, caches it" if IN_C || CACHED_BY_RUBY
    assert_equal "true true", output("unseen { print $$ == really, ' ', Skep.pid == really }")
  end

  test "is right after a fork in C once Skep.generation was called, in the fallback" do
    skip "Ruby's own cache doesn't see it" if CACHED_BY_RUBY
    assert_equal RIGHT, output("unseen { Skep.generation; report }")
  end

  test "works in a Ractor" do
    assert_equal "true true", output(<<~RUBY)
      print from_ractor { [Process.pid, $$] }.map { |pid| pid == really }.join(" ")
    RUBY
  end

  test "caches aliases of $$ that were made before and after" do
    assert_equal "true true\ntrue true\n", output(<<~RUBY, first: "require 'English'")
      alias $LATE $$
      def aliased = print($PROCESS_ID == really, " ", $LATE == really, "\n")
      aliased
      Process.wait(fork { aliased })
    RUBY
  end

  test "leaves $$ read-only" do
    assert_equal "$$ is a read-only variable", output(<<~'RUBY')
      begin
        eval("$$ = 1")
      rescue NameError => error
        print error.message
      end
    RUBY
  end

  test "Process.pid remains a module function" do
    assert_equal "true true 0", output(<<~RUBY)
      inside = Object.new.extend(Process)
      print inside.send(:pid) == really, " ", Process.method(:pid).call == really
      print " ", Process.method(:pid).arity
    RUBY
  end

  test "Process.pid can be redefined and prepended afterwards" do
    assert_equal "42 true", output(<<~RUBY)
      module Louder; def pid = super; end
      Process.singleton_class.prepend(Louder)
      right = Process.pid == really
      Louder.send(:remove_method, :pid)
      Process.singleton_class.send(:remove_method, :pid)
      def Process.pid = 42
      print Process.pid, " ", right
    RUBY
  end

  test "Process.ppid and the pid of a status remain right" do
    assert_equal "true 3", output(<<~RUBY)
      reader, writer = IO.pipe
      pid = fork { writer.print(Process.ppid); exit!(3) }
      status = Process.wait2(pid).last
      writer.close
      print Integer(reader.read) == $$ && status.pid == pid, " ", status.exitstatus
    RUBY
  end

  test "can be loaded several times" do
    assert_equal RIGHT * 2, output(<<~RUBY)
      $VERBOSE = nil
      load "skep/pid_cache.rb"
      report
      Process.wait(fork { report })
    RUBY
  end

  test "changes nothing if Process is frozen, and status has the reason" do
    skip "Ruby caches it" if CACHED_BY_RUBY
    assert_equal "false nothing was changed: Process is frozen", printed(<<~RUBY)
      require "skep/fork"
      Process.freeze
      require "skep/pid_cache"
      print Skep::PidCache.active?, " ", Skep::PidCache.status
    RUBY
  end

  test "loads only the components os and fork" do
    assert_equal "ExitCode Fork OS OptionalGem PidCache", printed(<<~RUBY)
      require "skep/pid_cache"
      print Skep.constants.select { |name| Skep.const_get(name).instance_of?(Module) }.sort.join(" ")
    RUBY
  end

  test "requiring skep doesn't load it" do
    assert_equal "[] true", printed(<<~RUBY)
      before = Process.method(:pid)
      require "skep"
      print Skep.constants & [:PidCache], " ", Process.method(:pid) == before
    RUBY
  end

  private

  def output(source, first: "")
    output_with_unseen("#{REPORT}\n#{source}", feature: "skep/pid_cache", first:)
  end

  def printed(source)
    out, err, = run_program(source)
    assert_equal "", err
    out
  end
end
