# frozen_string_literal: true

require "fork/support/guard_case"

# What the guard of forks knows of librdkafka's clients, also of those that a program makes without
# skep: it finds the plugin once it sees native threads.
class KafkaForkGuardTest < GuardCase
  PRODUCER = 'Rdkafka::Config.new("bootstrap.servers": "127.0.0.1:1", "log_level": 0).producer'
  # The gem's own Ruby thread has ended; its native thread may take a moment longer.
  ENDED = <<~RUBY
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 10
    nil while Skep::Fork::Guard.check.any? { |one| one.kind == :native_thread } &&
              Process.clock_gettime(Process::CLOCK_MONOTONIC) < deadline
  RUBY
  private_constant :PRODUCER, :ENDED

  test "reports a librdkafka client and its native threads as one" do
    missing "karafka-rdkafka, in the bundle" unless Gem.loaded_specs["karafka-rdkafka"]
    assert_equal <<~TEXT, kafka("client = #{PRODUCER}", "client.close")
      an open Rdkafka::Producer
    TEXT
    assert_equal "", kafka("#{PRODUCER}.close\n#{ENDED}")
  end

  # Its native threads may still run, and have no name of their own (NativeThreadsTest).
  test "sees a client that was made just now" do
    missing "karafka-rdkafka, in the bundle" unless Gem.loaded_specs["karafka-rdkafka"]
    3.times { assert_equal "an open Rdkafka::Producer\n", kafka("client = #{PRODUCER}") }
  end

  test "a child doesn't run the finalizers of its parent's clients" do
    assert_equal "closed by parent\n", output_of(<<~RUBY)
      require "skep/plugin/kafka"
      module Rdkafka
        class Producer
        end
      end
      parent = Process.pid
      closer = proc { STDOUT.syswrite("closed by \#{Process.pid == parent ? :parent : :child}\n") }
      client = Rdkafka::Producer.new
      ObjectSpace.define_finalizer(client, closer)
      finalizers = Skep::Fork::Guard::Finalizers.new
      Process.wait(fork { finalizers.disarm })
    RUBY
  end

  private

  # Returns the findings between the two, without the Ruby threads that the gem starts.
  def kafka(before, after = "")
    output_of(<<~RUBY, gems: true)
      require "rdkafka"
      Rdkafka::Config.logger = Logger.new(nil)
      #{before}
      others = %i[ruby_thread held_lock]
      puts Skep::Fork::Guard.check.reject { |one| others.include?(one.kind) }.map(&:what)
      #{after}
    RUBY
  end
end
