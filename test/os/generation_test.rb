# frozen_string_literal: true

require "test_helper"
require "skep/os"
require_relative "unseen"

class GenerationTest < Skep::TestCase
  include Unseen

  Generation = Skep::OS::Generation
  private_constant :Generation

  test "knows this process, and that nobody forked it" do
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

  test "counts forks that nobody looked at in between once" do
    assert_equal "1", program(<<~RUBY)
      Process.wait(fork { Generation.pid; Process.wait(fork { print Generation.count }) })
    RUBY
  end

  {
    "fork" => "Process.wait(fork { tell })",
    "Process.daemon" => "Process.daemon(true, true); tell",
    'IO.popen("-")' => 'IO.popen("-") { |io| io ? print(io.read) : tell }'
  }.each do |road, source|
    test "knows the pid right after #{road}" do
      assert_equal "1 true", program(source)
    end
  end

  test "knows the pid after a fork of which Ruby doesn't know, in C" do
    needs_to_see_unseen
    assert_equal "1 true", program("unseen { tell }")
  end

  test "knows the pid after a raw clone(2)" do
    needs_to_see_unseen
    needs_clone
    assert_equal "1 true", program("clone { tell }")
  end

  test "answers in a Ractor, before and after a fork that nobody looked at" do
    assert_equal "[0, true] [1, true] [1, true] ", program(<<~RUBY)
      def ask = print(from_ractor { [Generation.count, Generation.pid == $$] }, " ")
      ask
      Process.wait(fork { 2.times { ask } })
    RUBY
  end

  test "counts a fork once, be it asked for in a Ractor first" do
    assert_equal "1 1 2", program(<<~RUBY)
      def counted = from_ractor { Generation.count }
      Process.wait(fork do
        print counted, " ", Generation.count, " "
        Process.wait(fork { print counted })
      end)
    RUBY
  end

  test "answers in a trap handler" do
    assert_equal "1 true", program(<<~RUBY)
      trap(:USR1) { tell }
      Process.wait(fork { Process.kill(:USR1, Process.pid) })
    RUBY
  end

  test "tells its listener of forks that it doesn't know, once each" do
    assert_equal "0 told 1 1 told 2 0", program(<<~RUBY)
      Generation.listen { print "told " }
      facade = Module.new.extend(Generation::PidMethods)
      print facade.generation, " "
      Process.wait(fork do
        2.times { print facade.generation, " " }
        Process.wait(fork { print facade.generation, " " })
      end)
      print facade.generation
    RUBY
  end

  test "tells the listener nothing of what was before it" do
    assert_equal "1", program(<<~RUBY)
      facade = Module.new.extend(Generation::PidMethods)
      Process.wait(fork { Generation.listen { print "told " }; print facade.generation })
    RUBY
  end

  test "is one call in C for who extends itself with it" do
    skip "it takes the C" unless Skep::OS.native?
    facade = Module.new.extend(Generation::PidMethods)
    assert_equal [nil, nil], %i[pid generation].map { |name| facade.method(name).source_location }
    assert_equal [Process.pid, 0], [facade.pid, facade.generation]
  end

  private

  def program(source)
    walk_unseen(<<~RUBY, feature: "skep/os")
      Generation = Skep::OS::Generation
      def tell = print(Generation.count, " ", Generation.pid == really)
      #{source}
    RUBY
  end
end
