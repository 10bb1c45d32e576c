# frozen_string_literal: true

require "fork/support/guard_case"

class GuardFinalizersTest < GuardCase
  CLIENT = <<~RUBY
    module Rdkafka
      class Producer
        def self.make = new.tap { |it| ObjectSpace.define_finalizer(it, closer) }
        def self.who = Process.pid == PARENT ? "parent" : "child"
        def self.closer = proc { STDOUT.syswrite("closed by \#{who}\\n") }
        def closed? = false
      end
    end
    PARENT = Process.pid
    client = Rdkafka::Producer.make
  RUBY
  private_constant :CLIENT

  test "a child that was told to leaves its parent's clients alone, and the parent closes them" do
    assert_equal "closed by parent\n", output_of(<<~RUBY)
      #{CLIENT}
      finalizers = Skep::Fork::Guard::Finalizers.new
      Process.wait(fork { finalizers.disarm })
    RUBY
  end

  test "any other child closes them" do
    assert_equal "closed by child\nclosed by parent\n", output_of(<<~RUBY)
      #{CLIENT}
      Process.wait(fork {})
    RUBY
  end

  test "loads no library for it" do
    assert_equal "false\n", output_of(<<~RUBY)
      Skep::Fork::Guard::Finalizers.new.disarm
      p defined?(Rdkafka) ? true : false
    RUBY
  end
end
