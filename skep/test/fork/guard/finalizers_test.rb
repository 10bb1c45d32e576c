# frozen_string_literal: true

require "fork/support/guard_case"

class GuardFinalizersTest < GuardCase
  CLIENT = <<~RUBY
    module Broker
      class Client
        def self.make = new.tap { |it| ObjectSpace.define_finalizer(it, closer) }
        def self.role = Process.pid == PARENT ? "parent" : "child"
        def self.closer = proc { STDOUT.syswrite("closed by \#{role}\\n") }
        def closed? = false
      end
    end
    PARENT = Process.pid
    client = Broker::Client.make
    Skep::Fork::Guard.add_client("Broker::Client", finalized: true)
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

  test "a client whose library isn't loaded is no client" do
    assert_equal "nil\n", output_of(<<~RUBY)
      Skep::Fork::Guard.add_client("Broker::Client", finalized: true)
      Skep::Fork::Guard::Finalizers.new.disarm
      p defined?(Broker)
    RUBY
  end
end
