# frozen_string_literal: true

require "fork/support/guard_case"

class GuardFinalizersTest < GuardCase
  CLIENT = <<~RUBY
    module Rdkafka
      class Producer
        def self.make = new.tap { |it| ObjectSpace.define_finalizer(it, closer) }
        def self.role = Process.pid == PARENT ? "parent" : "child"
        def self.closer = proc { STDOUT.syswrite("closed by \#{role}\\n") }
        def closed? = false
      end
    end
    PARENT = Process.pid
    client = Rdkafka::Producer.make
  RUBY
  private_constant :CLIENT

  test "a child with disarm doesn't close its parent's clients, and the parent does" do
    assert_equal "closed by parent\n", output_of(<<~RUBY)
      #{CLIENT}
      finalizers = Skep::Fork::Guard::Finalizers.new
      Process.wait(fork { finalizers.disarm })
    RUBY
  end

  test "a child without disarm closes its parent's clients" do
    assert_equal "closed by child\nclosed by parent\n", output_of(<<~RUBY)
      #{CLIENT}
      Process.wait(fork {})
    RUBY
  end

  test "disarm loads no library" do
    assert_equal "false\n", output_of(<<~RUBY)
      Skep::Fork::Guard::Finalizers.new.disarm
      p defined?(Rdkafka) ? true : false
    RUBY
  end
end
