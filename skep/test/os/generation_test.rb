# frozen_string_literal: true

require "test_helper"
require "skep/os"
require_relative "unseen"

class GenerationTest < Skep::TestCase
  include Unseen

  Generation = Skep::OS::Generation
  private_constant :Generation

  test "pid is this process, and count is 0 without a fork" do
    assert_equal [Process.pid, 0], [Generation.pid, Generation.count]
  end

  test "counts forks one by one" do
    assert_equal "1 2 3 0 true", program(<<~RUBY)
      r, w = IO.pipe
      Process.wait(fork do
        w.print Generation.count, " "
        Process.wait(fork do
          w.print Generation.count, " "
          Process.wait(fork { w.print Generation.count, " " })
        end)
      end)
      w.close
      print r.read, Generation.count, " ", Generation.pid == Process.pid
    RUBY
  end

  test "counts several forks between two calls once" do
    assert_equal "1", program(<<~RUBY)
      Process.wait(fork { Generation.pid; Process.wait(fork { print Generation.count }) })
    RUBY
  end

  {
    "fork" => "Process.wait(fork { report })",
    "Process.daemon" => "Process.daemon(true, true); report",
    'IO.popen("-")' => 'IO.popen("-") { |io| io ? print(io.read) : report }'
  }.each do |way, source|
    test "has the new pid right after #{way}" do
      assert_equal "1 true", program(source)
    end
  end

  test "has the new pid after a fork by C code" do
    needs_detection
    assert_equal "1 true", program("unseen { report }")
  end

  test "has the new pid after a raw clone(2)" do
    needs_detection
    needs_clone
    assert_equal "1 true", program("clone { report }")
  end

  test "works in a Ractor, before and after a fork that no other call has detected" do
    assert_equal "[0, true] [1, true] [1, true] ", program(<<~RUBY)
      def ask = print(from_ractor { [Generation.count, Generation.pid == $$] }, " ")
      ask
      Process.wait(fork { 2.times { ask } })
    RUBY
  end

  test "counts a fork once, even if a Ractor detects it first" do
    assert_equal "1 1 2", program(<<~RUBY)
      def counted = from_ractor { Generation.count }
      Process.wait(fork do
        print counted, " ", Generation.count, " "
        Process.wait(fork { print counted })
      end)
    RUBY
  end

  test "works in a trap handler" do
    assert_equal "1 true", program(<<~RUBY)
      trap(:USR1) { report }
      Process.wait(fork { Process.kill(:USR1, Process.pid) })
    RUBY
  end

  test "generation calls the listener once after each fork" do
    assert_equal "0 called 1 1 called 2 0", program(<<~RUBY)
      Generation.listen { print "called " }
      facade = Module.new.extend(Generation::PidMethods)
      print facade.generation, " "
      Process.wait(fork do
        2.times { print facade.generation, " " }
        Process.wait(fork { print facade.generation, " " })
      end)
      print facade.generation
    RUBY
  end

  test "doesn't call the listener for forks before it was set" do
    assert_equal "1", program(<<~RUBY)
      facade = Module.new.extend(Generation::PidMethods)
      Process.wait(fork { Generation.listen { print "called " }; print facade.generation })
    RUBY
  end

  test "PidMethods are functions in C" do
    skip "it needs the C extension" unless Skep::OS.native?
    facade = Module.new.extend(Generation::PidMethods)
    assert_equal [nil, nil], %i[pid generation].map { |name| facade.method(name).source_location }
    assert_equal [Process.pid, 0], [facade.pid, facade.generation]
  end

  private

  def program(source)
    output_with_unseen(<<~RUBY, feature: "skep/os")
      Generation = Skep::OS::Generation
      def report = print(Generation.count, " ", Generation.pid == really)
      #{source}
    RUBY
  end
end
