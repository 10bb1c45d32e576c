# frozen_string_literal: true

require "test_helper"
require "skep/os"

class GenerationTest < Skep::TestCase
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
      Process.wait(fork { Process.wait(fork { print Generation.count }) })
    RUBY
  end

  test "notices a daemon" do
    assert_equal "1 true", program(<<~RUBY)
      Process.daemon(true, true)
      print Generation.count, " ", Generation.pid == Integer(File.readlink("/proc/self"))
    RUBY
  end

  test "notices a fork of which Ruby doesn't know, in C" do
    skip "it takes the C" unless Skep::OS.native?
    assert_equal "1 true", program(<<~RUBY)
      require "fiddle"
      libc_fork = Fiddle::Function.new(Fiddle.dlopen(nil)["fork"], [], Fiddle::TYPE_INT)
      if (pid = libc_fork.call).zero?
        print Generation.count, " ", Generation.pid == Integer(File.readlink("/proc/self"))
        $stdout.flush
        exit!
      end
      Process.wait(pid)
    RUBY
  end

  private

  def program(source)
    out, err, = run_program(<<~RUBY)
      require "skep/os"
      Generation = Skep::OS::Generation
      $stdout.sync = true
      #{source}
    RUBY
    assert_equal "", err
    out
  end
end
