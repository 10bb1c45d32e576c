# frozen_string_literal: true

require "test_helper"
require "skep/os"
require_relative "os/unseen"

# `require "skep/pid_cache"` changes Ruby: each test does it in a program of its own.
class PidCacheTest < Skep::TestCase
  include Unseen

  CACHED_BY_RUBY = RUBY_VERSION >= "3.3"
  IN_C = Skep::OS.native? && !CACHED_BY_RUBY
  TELL = 'def tell = print([Process.pid, $$, Skep.pid].map { _1 == really }.join(" "), "\n")'
  RIGHT = "true true true\n"
  SENTENCE =
    if IN_C then /\AProcess.pid and \$\$ read a page/
    elsif CACHED_BY_RUBY then /\Anothing was changed: Ruby #{RUBY_VERSION} caches/
    else /\AProcess.pid is .*\$\$ was not changed/
    end
  private_constant :CACHED_BY_RUBY, :IN_C, :TELL, :RIGHT, :SENTENCE

  test "says what it did, or why nothing" do
    active, status = walk("puts Skep::PidCache.active?, Skep::PidCache.status").lines(chomp: true)
    assert_equal (!CACHED_BY_RUBY).to_s, active
    assert_match SENTENCE, status
  end

  {
    "in this process" => "tell",
    "right after fork" => "Process.wait(fork { tell })",
    "after a fork of a fork" => "Process.wait(fork { Process.wait(fork { tell }) })",
    "in fork without a block" => "fork ? Process.wait : tell",
    "right after Process.daemon" => "Process.daemon(true, true); tell",
    'in IO.popen("-")' => 'IO.popen("-") { |io| io ? print(io.read) : tell }',
    "in a thread" => "Thread.new { tell }.join",
    "in a trap handler" => "trap(:USR1) { tell }; Process.kill(:USR1, Process.pid)",
    "in a child's callback" => "Skep.on_fork(child: -> { tell }); Process.wait(fork { exit! })"
  }.each do |where, program|
    test "is right #{where}" do
      assert_equal RIGHT, walk(program)
    end
  end

  test "is right in the parent after its forks" do
    assert_equal RIGHT, walk("2.times { Process.wait(fork { exit! }) }; tell")
  end

  test "is right after a fork in C" do
    skip "Ruby's own cache and the fallback don't see it" unless IN_C
    assert_equal RIGHT, walk("unseen { tell }")
  end

  test "is right after a raw clone(2)" do
    skip "Ruby's own cache and the fallback don't see it" unless IN_C
    needs_clone
    assert_equal RIGHT, walk("clone { tell }")
  end

  test "leaves $$ right after a fork in C, in the fallback" do
    skip "the C, or Ruby, is at work" if IN_C || CACHED_BY_RUBY
    assert_equal "true true", walk("unseen { print $$ == really, ' ', Skep.pid == really }")
  end

  test "learns of a fork in C by Skep.generation, in the fallback" do
    skip "Ruby's own cache doesn't" if CACHED_BY_RUBY
    assert_equal RIGHT, walk("unseen { Skep.generation; tell }")
  end

  test "answers in a Ractor" do
    assert_equal "true true", walk(<<~RUBY)
      print from_ractor { [Process.pid, $$] }.map { |pid| pid == really }.join(" ")
    RUBY
  end

  test "takes the aliases of $$ along, made before and after" do
    assert_equal "true true\ntrue true\n", walk(<<~RUBY, first: "require 'English'")
      alias $LATE $$
      def aliased = print($PROCESS_ID == really, " ", $LATE == really, "\n")
      aliased
      Process.wait(fork { aliased })
    RUBY
  end

  test "leaves $$ read-only" do
    assert_equal "$$ is a read-only variable", walk(<<~'RUBY')
      begin
        eval("$$ = 1")
      rescue NameError => error
        print error.message
      end
    RUBY
  end

  test "answers Process.pid wherever Ruby does" do
    assert_equal "true true 0", walk(<<~RUBY)
      inside = Object.new.extend(Process)
      print inside.send(:pid) == really, " ", Process.method(:pid).call == really
      print " ", Process.method(:pid).arity
    RUBY
  end

  test "hears who redefines Process.pid after it, and who calls super" do
    assert_equal "42 true", walk(<<~RUBY)
      module Louder; def pid = super; end
      Process.singleton_class.prepend(Louder)
      right = Process.pid == really
      Louder.send(:remove_method, :pid)
      Process.singleton_class.send(:remove_method, :pid)
      def Process.pid = 42
      print Process.pid, " ", right
    RUBY
  end

  test "leaves the parent's pid and statuses alone" do
    assert_equal "true 3", walk(<<~RUBY)
      reader, writer = IO.pipe
      pid = fork { writer.print(Process.ppid); exit!(3) }
      status = Process.wait2(pid).last
      writer.close
      print Integer(reader.read) == $$ && status.pid == pid, " ", status.exitstatus
    RUBY
  end

  test "does it once however often it is loaded" do
    assert_equal RIGHT * 2, walk(<<~RUBY)
      $VERBOSE = nil
      load "skep/pid_cache.rb"
      tell
      Process.wait(fork { tell })
    RUBY
  end

  test "leaves a frozen Process alone, and says so" do
    skip "Ruby caches it" if CACHED_BY_RUBY
    assert_equal "false nothing was changed: Process is frozen", printed(<<~RUBY)
      require "skep/fork"
      Process.freeze
      require "skep/pid_cache"
      print Skep::PidCache.active?, " ", Skep::PidCache.status
    RUBY
  end

  test "brings along the fork room and nothing above it" do
    assert_equal "ExitCode Fork OS PidCache", printed(<<~RUBY)
      require "skep/pid_cache"
      print Skep.constants.select { |name| Skep.const_get(name).instance_of?(Module) }.sort.join(" ")
    RUBY
  end

  test "isn't had by requiring skep" do
    assert_equal "[] true", printed(<<~RUBY)
      before = Process.method(:pid)
      require "skep"
      print Skep.constants & [:PidCache], " ", Process.method(:pid) == before
    RUBY
  end

  private

  def walk(source, first: "") = walk_unseen("#{TELL}\n#{source}", feature: "skep/pid_cache", first:)

  def printed(source)
    out, err, = run_program(source)
    assert_equal "", err
    out
  end
end
